//! Chains: elementwise operators that run fused, as a list of instructions.

use super::ElementOp;

/// An operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A tensor that the chain reads, by its index among the inputs.
    Input(usize),
    /// A constant number, by its index among the chain's constants.
    Scalar(usize),
    /// The result of an earlier instruction, by the number of that instruction.
    Result(usize),
}

/// One operator of a chain. Later instructions refer to its result by the instruction's number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// The operator.
    pub op: ElementOp,
    /// One operand for each input of the operator.
    pub operands: Vec<Operand>,
}
