//! Generates the kernels' `load_…` and `store_…` functions from the position, format and fused operators of tensors.

use std::fmt::Write;

use folkmoot_graph::op::{ElementOp, Instruction, Operand};

use super::math::function_name;
use super::tensor::Tensor;
use super::uniform::LOG_COLUMNS;
use super::view::View;

/// The storage format of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// 32-bit floats.
    Single,
    /// 16-bit floats; kernels still compute with 32 bits.
    Half,
    /// 32-bit integers.
    Integer,
    /// 32-bit integers that many invocations change: the log.
    Counter,
}

impl Format {
    /// Returns the number of bytes of an element.
    pub(super) fn bytes(self) -> usize {
        if self == Self::Half { 2 } else { 4 }
    }

    fn element(self) -> &'static str {
        match self {
            Self::Single => "f32",
            Self::Half => "f16",
            Self::Integer => "u32",
            Self::Counter => "atomic<u32>",
        }
    }
}

/// A tensor, and the view through which it is read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Read {
    pub(super) tensor: Tensor,
    /// The view; `None` if every element is read at its own position.
    pub(super) view: Option<View>,
}

/// Elementwise operators fused into a load or a store.
#[derive(Debug, Clone, Default)]
pub(super) struct Chain {
    /// The operands, read at the element's position; `None` is the value that a kernel stores.
    pub(super) inputs: Vec<Option<Read>>,
    pub(super) scalars: Vec<f64>,
    pub(super) instructions: Vec<Instruction>,
}

/// The result of `load_…`.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Stored(Read),
    Computed(Chain),
}

impl Source {
    pub(super) fn stored(tensor: Tensor) -> Self {
        Self::Stored(Read { tensor, view: None })
    }

    /// Returns the tensors that are read.
    pub(super) fn tensors(&self) -> Vec<Tensor> {
        match self {
            Self::Stored(read) => vec![read.tensor],
            Self::Computed(chain) => chain.tensors(),
        }
    }
}

impl Chain {
    /// Appends an operator.
    pub(super) fn push(&mut self, op: ElementOp, operands: Vec<Operand>) -> Operand {
        self.instructions.push(Instruction { op, operands });
        Operand::Result(self.instructions.len() - 1)
    }

    /// Adds a constant number.
    pub(super) fn scalar(&mut self, number: f64) -> Operand {
        self.scalars.push(number);
        Operand::Scalar(self.scalars.len() - 1)
    }

    /// Adds an operand; equal operands are added once.
    pub(super) fn input(&mut self, read: Read) -> Operand {
        let known = self.inputs.iter().position(|input| input.as_ref() == Some(&read));
        Operand::Input(known.unwrap_or_else(|| {
            self.inputs.push(Some(read));
            self.inputs.len() - 1
        }))
    }

    /// Returns the tensors that are read.
    pub(super) fn tensors(&self) -> Vec<Tensor> {
        self.inputs.iter().flatten().map(|read| read.tensor).collect()
    }
}

/// The effect of `store_…`: the operators applied to the stored value, and the tensors that get the results.
#[derive(Debug, Clone)]
pub(super) struct Sink {
    pub(super) chain: Chain,
    pub(super) stores: Vec<(Operand, Tensor)>,
}

impl Sink {
    /// Stores the value unchanged.
    pub(super) fn stored(tensor: Tensor) -> Self {
        let chain = Chain { inputs: vec![None], ..Chain::default() };
        Self { chain, stores: vec![(Operand::Input(0), tensor)] }
    }

    /// Returns the tensor, if the value is only stored unchanged in one tensor.
    fn plain(&self) -> Option<Tensor> {
        match self.stores[..] {
            [(Operand::Input(0), tensor)] if self.chain.inputs[0].is_none() => Some(tensor),
            _ => None,
        }
    }
}

/// A tensor as bound by a kernel: the index of its first binding, and the number of elements per binding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) binding: usize,
    pub(super) parts: usize,
    pub(super) part_elements: usize,
    pub(super) format: Format,
}

/// Declares a tensor's variables.
pub(super) fn declare(bound: Bound, is_written: bool, source: &mut String) {
    let access = if is_written || bound.format == Format::Counter { "read_write" } else { "read" };
    for part in 0..bound.parts {
        let (binding, element) = (bound.binding + part, bound.format.element());
        writeln!(
            source,
            "@group(0) @binding({binding}) var<storage, {access}> t{binding}: array<{element}>;"
        )
        .expect("writing to a string cannot fail");
    }
}

/// Writes `load_NAME`. `bound` gives the bindings of each tensor.
pub(super) fn write_load(name: &str, from: &Source, bound: &dyn Fn(Tensor) -> Bound, source: &mut String) {
    let (kind, body) = match from {
        Source::Stored(read) => {
            let own = bound(read.tensor);
            let kind = if own.format == Format::Integer { "u32" } else { "f32" };
            (kind, format!("    let p = {};\n    return {};", position(read), element(own, "p")))
        }
        Source::Computed(chain) => {
            let last = chain.instructions.len() - 1;
            ("f32", format!("{}    return r{last};", statements(chain, "", bound)))
        }
    };
    source.push_str(&format!("fn load_{name}(i: u32) -> {kind} {{\n{body}\n}}\n"));
}

/// Writes `store_NAME` and, if no operators are fused, `load_NAME`.
pub(super) fn write_store(name: &str, to: &Sink, bound: &dyn Fn(Tensor) -> Bound, source: &mut String) {
    if let Some(tensor) = to.plain() {
        let own = bound(tensor);
        if own.format == Format::Counter {
            return write_log(own.binding, source);
        }
        let element = element(own, "p");
        source.push_str(&format!("fn load_{name}(i: u32) -> f32 {{ let p = i; return {element}; }}\n"));
    }
    source.push_str(&format!(
        "fn store_{name}(i: u32, value: f32) {{\n{}",
        statements(&to.chain, "value", bound)
    ));
    for (operand, tensor) in &to.stores {
        write_element(bound(*tensor), &operand_text(&to.chain, operand), source);
    }
    source.push_str("}\n");
}

/// Writes element `i` to the binding that contains it.
fn write_element(bound: Bound, value: &str, source: &mut String) {
    let value = if bound.format == Format::Half { format!("f16({value})") } else { value.to_owned() };
    let mut start = 0;
    for part in 0..bound.parts {
        let variable = bound.binding + part;
        let at = if start == 0 { "i".to_owned() } else { format!("i - {start}u") };
        let write = format!("t{variable}[{at}] = {value};");
        let end = start + bound.part_elements;
        source.push_str(&match (part == 0, part == bound.parts - 1) {
            (true, true) => format!("    {write}\n"),
            (true, false) => format!("    if i < {end}u {{ {write} }}\n"),
            (false, false) => format!("    if i >= {start}u && i < {end}u {{ {write} }}\n"),
            (false, true) => format!("    if i >= {start}u {{ {write} }}\n"),
        });
        start = end;
    }
}

/// Writes the functions that access the current step's row of the log.
fn write_log(binding: usize, source: &mut String) {
    source.push_str(&format!(
        "fn log_place(column: u32) -> u32 {{ return step.index * {LOG_COLUMNS}u + column; }}\n\
         fn log_or(column: u32, bits: u32) {{ atomicOr(&t{binding}[log_place(column)], bits); }}\n\
         fn log_store(column: u32, bits: u32) {{ atomicStore(&t{binding}[log_place(column)], bits); }}\n"
    ));
}

fn position(read: &Read) -> String {
    read.view.as_ref().map_or_else(|| "i".to_owned(), View::position)
}

/// Returns WGSL for the element at position `p`.
fn element(bound: Bound, p: &str) -> String {
    let read = |part: usize| {
        let (variable, start) = (bound.binding + part, part * bound.part_elements);
        // Reads from every part at a clamped position, then selects the right one.
        let at = match (bound.parts, start) {
            (1, _) => p.to_owned(),
            (_, 0) => format!("min({p}, {}u)", bound.part_elements - 1),
            _ => format!("select(0u, {p} - {start}u, {p} >= {start}u)"),
        };
        match bound.format {
            Format::Half => format!("f32(t{variable}[{at}])"),
            _ => format!("t{variable}[{at}]"),
        }
    };
    (1..bound.parts).fold(read(0), |before, part| {
        format!("select({before}, {}, {p} >= {}u)", read(part), part * bound.part_elements)
    })
}

/// Returns the statements of a chain. All reads come before the stores that follow.
fn statements(chain: &Chain, value: &str, bound: &dyn Fn(Tensor) -> Bound) -> String {
    let mut statements = String::new();
    for (index, input) in chain.inputs.iter().enumerate() {
        let text = match input {
            Some(read) => {
                statements.push_str(&format!("    let p{index} = {};\n", position(read)));
                element(bound(read.tensor), &format!("p{index}"))
            }
            None => value.to_owned(),
        };
        statements.push_str(&format!("    let a{index} = {text};\n"));
    }
    for (index, instruction) in chain.instructions.iter().enumerate() {
        let operands: Vec<String> =
            instruction.operands.iter().map(|operand| operand_text(chain, operand)).collect();
        let (function, operands) = (function_name(instruction.op), operands.join(", "));
        statements.push_str(&format!("    let r{index} = {function}({operands});\n"));
    }
    statements
}

fn operand_text(chain: &Chain, operand: &Operand) -> String {
    match operand {
        Operand::Input(input) => format!("a{input}"),
        Operand::Scalar(scalar) => number(chain.scalars[*scalar]),
        Operand::Result(result) => format!("r{result}"),
    }
}

/// Returns a number as WGSL: its shortest decimal digits, or its bits if WGSL has no literal for it.
pub(super) fn number(number: f64) -> String {
    let number = number as f32;
    if number.is_nan() {
        "not_a_number()".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "infinity()".to_owned() } else { "(-infinity())".to_owned() }
    } else {
        format!("f32({number:e})")
    }
}
