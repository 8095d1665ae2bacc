//! A program before it has memory: its dispatches, and where every tensor lies.

use super::accessor::Format;

/// A stretch of memory on the device that is shared by all kernels of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Buffer {
    /// Activations, their gradients, and working memory.
    Arena,
    /// Frozen tensors.
    Constants,
    /// The weights: trained ones first, then running statistics, then frozen ones.
    Weights,
    /// The gradients of the trained weights, laid out as they are.
    Gradient,
    /// What the optimizer keeps first of each trained weight.
    First,
    /// What the optimizer keeps second.
    Second,
    /// The weights from which training began.
    Start,
    /// What is added to every gradient.
    Correction,
    /// Features of all examples.
    Features,
    /// Labels of all examples.
    Labels,
    /// The share of each example in its batch's loss, batch after batch.
    Shares,
    /// The numbers of the examples of each batch, batch after batch.
    Order,
    /// Loss, right answers and faults of each step.
    Log,
    /// The factor of the loss, with mixed precision.
    Scale,
    /// What a program without training reads.
    Inputs,
}

/// Where a tensor lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) buffer: Buffer,
    /// The first byte, aligned.
    pub(super) start: usize,
    /// Elements.
    pub(super) length: usize,
    pub(super) format: Format,
}

impl Place {
    /// Bytes of the elements.
    pub(super) fn bytes(&self) -> usize {
        self.length * self.format.bytes()
    }
}

/// A part of a buffer that a kernel sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) buffer: Buffer,
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) is_written: bool,
}

/// A kernel that is ready to be compiled.
#[derive(Debug, Clone)]
pub(super) struct Dispatch {
    pub(super) name: &'static str,
    pub(super) source: String,
    pub(super) bindings: Vec<Binding>,
    pub(super) workgroups: [u32; 3],
    pub(super) flops: u64,
    pub(super) reads_step: bool,
}

/// A program without memory.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) dispatches: Vec<Dispatch>,
    /// Bytes of the arena.
    pub(super) arena: usize,
    /// The graph's constants that are read, and where each lies among the constants.
    pub(super) constants: Vec<(usize, usize)>,
    /// Bytes of the constants.
    pub(super) constant_bytes: usize,
    /// Where the tensors lie that can be read at the end.
    pub(super) kept: Vec<Place>,
}
