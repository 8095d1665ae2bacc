//! The operators of the graph and their shape rules. The importer builds every ONNX operator from these, and autodiff
//! every gradient.

mod chain;
mod element;
mod shape;
mod window;

pub use chain::{Instruction, Operand};
pub use element::ElementOp;
pub use shape::ShapeError;
pub use shape::{broadcast, broadcast_strides, strides, volume};
pub use window::Window;

/// The kind of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The maximum.
    Maximum,
    /// The minimum.
    Minimum,
}

/// The computation of a node. Shapes that do not follow from the inputs are taken from the node's output value.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// An elementwise operator, with broadcasting.
    Element(ElementOp),
    /// The same elements in another shape.
    Reshape,
    /// Output axis `i` is input axis `axes[i]`.
    Transpose {
        /// The input axis for each output axis: a permutation.
        axes: Vec<usize>,
    },
    /// Broadcasts to the output's shape.
    Broadcast,
    /// Sums over the axes that [`Op::Broadcast`] repeats.
    SumTo,
    /// Reduces these axes and keeps them with size 1.
    Reduce {
        /// The kind of reduction.
        kind: Reduction,
        /// The axes, in ascending order.
        axes: Vec<usize>,
    },
    /// The position of the maximum along an axis, which keeps size 1.
    ArgMaximum {
        /// The axis.
        axis: usize,
        /// True if the last of equal maxima counts instead of the first.
        last: bool,
    },
    /// `op(A) op(B)` over the last two axes; the others broadcast.
    MatMul {
        /// True if A is read transposed.
        transpose_a: bool,
        /// True if B is read transposed.
        transpose_b: bool,
    },
    /// Reads `starts + i · steps` along each axis.
    Slice {
        /// The first position of each axis.
        starts: Vec<usize>,
        /// The step of each axis, not 0.
        steps: Vec<isize>,
    },
    /// Writes the input to positions `starts + i · steps` of a zero tensor. This is the gradient of [`Op::Slice`], and
    /// padding.
    Unslice {
        /// The first position of each axis.
        starts: Vec<usize>,
        /// The step of each axis, not 0.
        steps: Vec<isize>,
    },
    /// Concatenates along an axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// Reads `data[.., positions, ..]` along the axis. The inputs are data and positions; positions below 0 count from
    /// the end.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// Adds every value at its position to zeros of the output's shape. The inputs are values and positions. This is
    /// the gradient of [`Op::Gather`].
    ScatterAdd {
        /// The axis.
        axis: usize,
    },
    /// Convolves input `[N, C, H, W]` with filter `[M, C / groups, kH, kW]`; the output is `[N, M, oH, oW]`.
    Conv {
        /// The geometry.
        window: Window,
        /// The number of channel groups.
        groups: usize,
    },
    /// The input gradient of a convolution, from the output gradient and the filter. Its shape is the output value's.
    ConvInputGradient {
        /// The geometry.
        window: Window,
        /// The number of channel groups.
        groups: usize,
    },
    /// The filter gradient of a convolution, from the output gradient and the input. Its shape is the output value's.
    ConvFilterGradient {
        /// The geometry.
        window: Window,
        /// The number of channel groups.
        groups: usize,
    },
    /// The maximum of each window; padding does not count.
    MaxPool {
        /// The geometry.
        window: Window,
    },
    /// The input gradient of max pooling, from the input and the output gradient. It goes to the first maximum of each
    /// window.
    MaxPoolGradient {
        /// The geometry.
        window: Window,
    },
    /// The mean of each window.
    AveragePool {
        /// The geometry.
        window: Window,
        /// `None` if the mean excludes padding. Otherwise padding counts as zeros, and this is the number of positions
        /// after the input that count in each dimension.
        counted_padding: Option<[usize; 2]>,
    },
    /// The input gradient of average pooling, from the output gradient.
    AveragePoolGradient {
        /// The geometry.
        window: Window,
        /// See [`Op::AveragePool`].
        counted_padding: Option<[usize; 2]>,
    },
    /// Uniform random numbers in [0, 1), drawn again in each step.
    Random {
        /// The random stream, which distinguishes the random nodes of a graph.
        stream: u64,
    },
}

impl Op {
    /// Returns the operator's name for messages and profiles.
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
