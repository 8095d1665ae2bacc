//! Row-wise computations: softmax, normalisations, losses and their gradients, each in one dispatch.
//!
//! The invocations of a row loop over it once for each reduction, and once more to store the results. Elementwise
//! operators in between are recomputed in each loop instead of being stored.

use std::collections::BTreeSet;
use std::fmt::Write;

use folkmoot_graph::op::{ElementOp, Operand, Reduction};

use super::super::accessor::{Read, Sink, Source, number};
use super::super::lowering::{Draft, Kernel, WORKGROUP, grid};
use super::super::math::function_name;
use super::super::tensor::Tensor;
use super::product::constants;

const SHARED: &str = include_str!("../../shader/rows/rows_shared.wgsl");

/// The number of neighbouring invocations that share a row, so that they read neighbouring memory together.
const LANES: usize = 8;
/// The smallest width of a row that is shared, in elements.
const SHARED_WIDTH_MIN: usize = 16;

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
    /// The operands. The flag is true if an operand has one element per row instead of one per element.
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
        let flops = (self.items.len() * self.rows * self.width) as u64;
        let kernel = Kernel { flops, ..if self.is_shared() { self.shared() } else { self.alone() } };
        let reads = self.inputs.into_iter().zip(READS);
        let writes = self.stores.into_iter().zip(WRITES);
        Draft {
            kernel,
            reads: reads.map(|((read, _), name)| (name, Source::Stored(read))).collect(),
            writes: writes.map(|((_, tensor), name)| (name, Sink::stored(tensor))).collect(),
        }
    }

    /// Returns whether several invocations share a row. It depends only on the shape, so that the order of the sums is
    /// the same on every GPU.
    fn is_shared(&self) -> bool {
        self.width >= SHARED_WIDTH_MIN
    }

    /// Returns the kernel in which each invocation computes a row.
    fn alone(&self) -> Kernel {
        Kernel::each("rows", &format!("fn element(row: u32) {{\n{}}}\n", self.body()), self.rows)
    }

    /// Returns the kernel in which invocations share rows.
    fn shared(&self) -> Kernel {
        let [columns, down] = grid(self.rows.div_ceil(WORKGROUP as usize / LANES));
        let last = self.rows.saturating_sub(1);
        let sizes =
            constants(&[("LANES", LANES), ("ROWS", self.rows), ("LAST_ROW", last), ("COLUMNS", columns)]);
        let body = self.body();
        let function =
            format!("fn row_of_lanes(row: u32, lane: u32, first: u32, is_inside: bool) {{\n{body}}}\n");
        Kernel {
            name: "rows",
            source: [&sizes, SHARED, &function].concat(),
            workgroups: [columns as u32, down as u32, 1],
            flops: 0,
            reads_step: false,
        }
    }

    /// Returns the statements for a row.
    fn body(&self) -> String {
        let mut body = String::new();
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
        if self.is_shared() {
            body.push_str(&format!(
                "    shared_values[first + lane] = r{index};\n    workgroupBarrier();\n    \
                 r{index} = shared_values[first];\n    \
                 for (var other = 1u; other < LANES; other++) {{\n    \
                 r{index} = {function}(r{index}, shared_values[first + other]);\n    }}\n    \
                 workgroupBarrier();\n"
            ));
        }
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
                true => {
                    let guard = if self.is_shared() { "if is_inside && lane == 0u " } else { "" };
                    let value = self.text(*operand);
                    body.push_str(&format!("    {guard}{{ store_{name}(row, {value}); }}\n"));
                }
                false => of_elements.push((name, *operand)),
            }
        }
        if of_elements.is_empty() {
            return;
        }
        let operands: Vec<Operand> = of_elements.iter().map(|(_, operand)| *operand).collect();
        self.open_walk(&operands, body);
        let guard = if self.is_shared() { "if is_inside " } else { "" };
        for (name, operand) in of_elements {
            body.push_str(&format!("    {guard}{{ store_{name}(i, {}); }}\n", self.text(operand)));
        }
        body.push_str("    }\n");
    }

    /// Opens a loop over the row's elements that computes these operands.
    fn open_walk(&self, operands: &[Operand], body: &mut String) {
        let width = self.width;
        let (first, step) = if self.is_shared() { ("lane", LANES) } else { ("0u", 1) };
        body.push_str(&format!(
            "    for (var c = {first}; c < {width}u; c += {step}u) {{\n    let i = row * {width}u + c;\n"
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
