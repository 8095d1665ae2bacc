//! Elementwise operations that run as one, as a list of instructions.

use super::ElementOp;

/// What an instruction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A tensor that the chain reads.
    Input(usize),
    /// A number that never changes.
    Scalar(usize),
    /// The result of an earlier instruction.
    Result(usize),
}

/// One operation of a chain; its result has the instruction's number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// What it computes.
    pub op: ElementOp,
    /// As many as the operation has inputs.
    pub operands: Vec<Operand>,
}
