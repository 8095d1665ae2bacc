//! Row-wise computations: softmax, normalisations, losses and their gradients, each in one dispatch.
//!
//! An invocation loops over its row once for each reduction, and once more to store the results. Elementwise operators
//! in between are recomputed in each loop instead of being stored.

use std::collections::BTreeSet;
use std::fmt::Write;

use folkmoot_graph::op::{ElementOp, Operand, Reduction};

use super::super::accessor::{Read, Sink, Source, number};
use super::super::lowering::{Draft, Kernel};
use super::super::math::function_name;
use super::super::tensor::Tensor;

/// The names of the input tensors. Their number is WebGPU's limit on bindings.
const READS: [&str; 8] = ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"];
const WRITES: [&str; 8] = ["y0", "y1", "y2", "y3", "y4", "y5", "y6", "y7"];

/// An operator on every element of a row, or on numbers of a row.
#[derive(Debug, Clone)]
enum Item {
    Element { op: ElementOp, operands: Vec<Operand>, is_of_row: bool },
    Reduce { kind: Reduction, operand: Operand },
}

/// A program that runs for each of `rows` rows of `width` elements.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    rows: usize,
    width: usize,
    /// The operands. The flag tells whether an operand has one element per row instead of one per element.
    inputs: Vec<(Read, bool)>,
    scalars: Vec<f64>,
    items: Vec<Item>,
    stores: Vec<(Operand, Tensor)>,
}

impl Rows {
    /// Creates an empty program.
    pub(crate) fn new(rows: usize, width: usize) -> Self {
        Self { rows, width, ..Self::default() }
    }

    /// Appends an elementwise operator.
    pub(crate) fn element(&mut self, op: ElementOp, operands: Vec<Operand>, is_of_row: bool) -> Operand {
        self.items.push(Item::Element { op, operands, is_of_row });
        Operand::Result(self.items.len() - 1)
    }

    /// Appends a reduction of each row to a number.
    pub(crate) fn reduce(&mut self, kind: Reduction, operand: Operand) -> Operand {
        self.items.push(Item::Reduce { kind, operand });
        Operand::Result(self.items.len() - 1)
    }

    /// Adds a constant number.
    pub(crate) fn scalar(&mut self, number: f64) -> Operand {
        self.scalars.push(number);
        Operand::Scalar(self.scalars.len() - 1)
    }

    /// Adds an operand; equal operands are added once.
    pub(crate) fn input(&mut self, read: Read, is_of_row: bool) -> Operand {
        let input = (read, is_of_row);
        let known = self.inputs.iter().position(|known| *known == input);
        Operand::Input(known.unwrap_or_else(|| {
            self.inputs.push(input);
            self.inputs.len() - 1
        }))
    }

    /// Stores a result.
    pub(crate) fn store(&mut self, operand: Operand, to: Tensor) {
        self.stores.push((operand, to));
    }

    /// Returns the dispatch.
    pub(crate) fn draft(self) -> Draft {
        let source = self.source();
        let elements = (self.rows * self.width) as u64;
        let kernel =
            Kernel { flops: self.items.len() as u64 * elements, ..Kernel::each("rows", &source, self.rows) };
        let reads = self.inputs.into_iter().zip(READS);
        let writes = self.stores.into_iter().zip(WRITES);
        Draft {
            kernel,
            reads: reads.map(|((read, _), name)| (name, Source::Stored(read))).collect(),
            writes: writes.map(|((_, tensor), name)| (name, Sink::stored(tensor))).collect(),
        }
    }

    fn source(&self) -> String {
        let mut body = String::from("fn element(row: u32) {\n");
        for (index, (_, is_of_row)) in self.inputs.iter().enumerate() {
            if *is_of_row {
                writeln!(body, "    let a{index} = load_x{index}(row);")
                    .expect("writing to a string cannot fail");
            }
        }
        for (index, item) in self.items.iter().enumerate() {
            match item {
                Item::Element { op, operands, is_of_row: true } => {
                    self.write_element(index, *op, operands, &mut body);
                }
                Item::Element { .. } => {}
                Item::Reduce { kind, operand } => self.write_reduction(index, *kind, *operand, &mut body),
            }
        }
        self.write_stores(&mut body);
        body.push_str("}\n");
        body
    }

    fn write_reduction(&self, index: usize, kind: Reduction, operand: Operand, body: &mut String) {
        let (start, function) = match kind {
            Reduction::Sum => ("0.0", "add"),
            Reduction::Maximum => ("-infinity()", "maximum"),
            Reduction::Minimum => ("infinity()", "minimum"),
        };
        body.push_str(&format!("    var r{index} = {start};\n"));
        self.open_walk(&[operand], body);
        let value = self.text(operand);
        body.push_str(&format!("    r{index} = {function}(r{index}, {value});\n    }}\n"));
    }

    fn write_stores(&self, body: &mut String) {
        let is_of_row = |operand: &Operand| match operand {
            Operand::Input(input) => self.inputs[*input].1,
            Operand::Scalar(_) => true,
            Operand::Result(result) => match &self.items[*result] {
                Item::Element { is_of_row, .. } => *is_of_row,
                Item::Reduce { .. } => true,
            },
        };
        let mut of_elements = Vec::new();
        for (name, (operand, _)) in WRITES.into_iter().zip(&self.stores) {
            match is_of_row(operand) {
                true => body.push_str(&format!("    store_{name}(row, {});\n", self.text(*operand))),
                false => of_elements.push((name, *operand)),
            }
        }
        if of_elements.is_empty() {
            return;
        }
        let operands: Vec<Operand> = of_elements.iter().map(|(_, operand)| *operand).collect();
        self.open_walk(&operands, body);
        for (name, operand) in of_elements {
            body.push_str(&format!("    store_{name}(i, {});\n", self.text(operand)));
        }
        body.push_str("    }\n");
    }

    /// Opens a loop over the row's elements that computes these operands.
    fn open_walk(&self, operands: &[Operand], body: &mut String) {
        let width = self.width;
        body.push_str(&format!(
            "    for (var c = 0u; c < {width}u; c++) {{\n    let i = row * {width}u + c;\n"
        ));
        let (mut inputs, mut results) = (BTreeSet::new(), BTreeSet::new());
        let mut pending = operands.to_vec();
        while let Some(operand) = pending.pop() {
            match operand {
                Operand::Input(input) if !self.inputs[input].1 => {
                    inputs.insert(input);
                }
                Operand::Result(result) => {
                    if let Item::Element { operands, is_of_row: false, .. } = &self.items[result]
                        && results.insert(result)
                    {
                        pending.extend(operands);
                    }
                }
                _ => {}
            }
        }
        for input in inputs {
            body.push_str(&format!("    let a{input} = load_x{input}(i);\n"));
        }
        for result in results {
            if let Item::Element { op, operands, .. } = &self.items[result] {
                self.write_element(result, *op, operands, body);
            }
        }
    }

    fn write_element(&self, index: usize, op: ElementOp, operands: &[Operand], body: &mut String) {
        let operands: Vec<String> = operands.iter().map(|operand| self.text(*operand)).collect();
        body.push_str(&format!("    let r{index} = {}({});\n", function_name(op), operands.join(", ")));
    }

    fn text(&self, operand: Operand) -> String {
        match operand {
            Operand::Input(input) => format!("a{input}"),
            Operand::Scalar(scalar) => number(self.scalars[scalar]),
            Operand::Result(result) => format!("r{result}"),
        }
    }
}
