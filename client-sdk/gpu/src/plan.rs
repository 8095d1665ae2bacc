//! A program without memory: the dispatches, and the place of every tensor.

use super::accessor::Format;

/// A buffer in GPU memory that all kernels of a program share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Buffer {
    /// Activations, their gradients, and workspace.
    Arena,
    /// Constant tensors.
    Constants,
    /// The weights: trained ones first, then running statistics, then frozen ones.
    Weights,
    /// The gradients of the trained weights, in the same layout.
    Gradient,
    /// The optimizer's first state value of each trained weight.
    First,
    /// The optimizer's second state value of each trained weight.
    Second,
    /// The starting weights.
    Start,
    /// The correction added to every gradient.
    Correction,
    /// Features of all examples.
    Features,
    /// Labels of all examples.
    Labels,
    /// The share of each example in its batch's loss, batch after batch.
    Shares,
    /// The indexes of the examples of each batch, batch after batch.
    Order,
    /// Loss, number of correct predictions and faults of each step.
    Log,
    /// The loss scale, with mixed precision.
    Scale,
    /// The inputs of a program without training.
    Inputs,
}

/// The place of a tensor in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) buffer: Buffer,
    /// The offset in bytes, aligned.
    pub(super) start: usize,
    /// The number of elements.
    pub(super) length: usize,
    pub(super) format: Format,
}

impl Place {
    /// Returns the number of bytes that the elements take.
    pub(super) fn bytes(&self) -> usize {
        self.length * self.format.bytes()
    }
}

/// A part of a buffer that a kernel can access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) buffer: Buffer,
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) is_written: bool,
}

/// A kernel that is ready to compile.
#[derive(Debug, Clone)]
pub(super) struct Dispatch {
    pub(super) name: &'static str,
    pub(super) source: String,
    pub(super) bindings: Vec<Binding>,
    pub(super) workgroups: [u32; 3],
    pub(super) flops: u64,
    pub(super) reads_step: bool,
}

/// A compiled program whose memory is not allocated yet.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) dispatches: Vec<Dispatch>,
    /// The size of the arena in bytes.
    pub(super) arena: usize,
    /// The indexes of the graph's constants that the kernels read, each with its offset in the buffer.
    pub(super) constants: Vec<(usize, usize)>,
    /// The size of the constants in bytes.
    pub(super) constant_bytes: usize,
    /// The places of the tensors that stay readable at the end.
    pub(super) kept: Vec<Place>,
}
