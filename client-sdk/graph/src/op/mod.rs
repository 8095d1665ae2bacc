//! The operations of the graph, and what they need to know of shapes. Every ONNX operator and every gradient is made
//! of these.

mod chain;
mod element;
mod shape;
mod window;

pub use chain::{Instruction, Operand};
pub use element::ElementOp;
pub use shape::ShapeError;
pub use shape::{broadcast, broadcast_strides, strides, volume};
pub use window::Window;

/// A reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The largest.
    Maximum,
    /// The smallest.
    Minimum,
}

/// What a node computes. Shapes that do not follow from the inputs are those of the node's output value.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Element by element, with broadcasting.
    Element(ElementOp),
    /// The same elements in another shape.
    Reshape,
    /// Output axis `i` is input axis `axes[i]`.
    Transpose {
        /// A permutation.
        axes: Vec<usize>,
    },
    /// Repeats to the output's shape.
    Broadcast,
    /// Sums over what [`Op::Broadcast`] repeated.
    SumTo,
    /// Reduces these axes, which stay with size 1.
    Reduce {
        /// How.
        kind: Reduction,
        /// Ascending.
        axes: Vec<usize>,
    },
    /// The position of the largest (or smallest) along an axis, which stays with size 1.
    ArgMaximum {
        /// The axis.
        axis: usize,
        /// The last of equal ones rather than the first.
        last: bool,
    },
    /// `op(A) op(B)` over the last two axes; the others broadcast.
    MatMul {
        /// Reads A transposed.
        transpose_a: bool,
        /// Reads B transposed.
        transpose_b: bool,
    },
    /// Reads `starts + i · steps` along each axis.
    Slice {
        /// The first position of each axis.
        starts: Vec<usize>,
        /// The step of each axis, not 0.
        steps: Vec<isize>,
    },
    /// Writes to `starts + i · steps` of zeros: the gradient of [`Op::Slice`], and padding.
    Unslice {
        /// The first position of each axis.
        starts: Vec<usize>,
        /// The step of each axis, not 0.
        steps: Vec<isize>,
    },
    /// Joins along an axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// Data and positions to `data[.., positions, ..]` at the axis. Positions below 0 count from the end.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// Values and positions to zeros of the output's shape plus every value at its position: the gradient of
    /// [`Op::Gather`].
    ScatterAdd {
        /// The axis.
        axis: usize,
    },
    /// Input `[N, C, H, W]` and filter `[M, C / groups, kH, kW]` to `[N, M, oH, oW]`.
    Conv {
        /// The geometry.
        window: Window,
        /// Groups of channels.
        groups: usize,
    },
    /// Output's gradient and filter to the gradient of the input, of the output value's shape.
    ConvInputGradient {
        /// The geometry.
        window: Window,
        /// Groups of channels.
        groups: usize,
    },
    /// Output's gradient and input to the gradient of the filter, of the output value's shape.
    ConvFilterGradient {
        /// The geometry.
        window: Window,
        /// Groups of channels.
        groups: usize,
    },
    /// The largest in each window; padding does not count.
    MaxPool {
        /// The geometry.
        window: Window,
    },
    /// Input and the output's gradient to the gradient of the input: it goes to the first largest.
    MaxPoolGradient {
        /// The geometry.
        window: Window,
    },
    /// The mean of each window.
    AveragePool {
        /// The geometry.
        window: Window,
        /// Padding at the end that counts, if padding counts: positions up to `size + pads + these`.
        counted_padding: Option<[usize; 2]>,
    },
    /// Output's gradient to the gradient of the input.
    AveragePoolGradient {
        /// The geometry.
        window: Window,
        /// As in [`Op::AveragePool`].
        counted_padding: Option<[usize; 2]>,
    },
    /// Uniform numbers in [0, 1), new ones in each step.
    Random {
        /// Tells the random nodes of a graph apart.
        stream: u64,
    },
}

impl Op {
    /// The name in messages and profiles.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Element(_) => "elementwise",
            Self::Reshape => "reshape",
            Self::Transpose { .. } => "transpose",
            Self::Broadcast => "broadcast",
            Self::SumTo => "sum to shape",
            Self::Reduce { .. } => "reduce",
            Self::ArgMaximum { .. } => "argument of the maximum",
            Self::MatMul { .. } => "matrix product",
            Self::Slice { .. } => "slice",
            Self::Unslice { .. } => "pad",
            Self::Concat { .. } => "concatenate",
            Self::Gather { .. } => "gather",
            Self::ScatterAdd { .. } => "gather, gradient",
            Self::Conv { .. } => "convolution",
            Self::ConvInputGradient { .. } => "convolution, gradient of the input",
            Self::ConvFilterGradient { .. } => "convolution, gradient of the filter",
            Self::MaxPool { .. } => "max pooling",
            Self::MaxPoolGradient { .. } => "max pooling, gradient",
            Self::AveragePool { .. } => "average pooling",
            Self::AveragePoolGradient { .. } => "average pooling, gradient",
            Self::Random { .. } => "random numbers",
        }
    }
}
