//! Pooling over windows of the last two axes, and its gradients. In the gradients, each input element collects its own
//! sum.

use folkmoot_graph::op::{Window, volume};

use super::super::lowering::{Kernel, Lowering};
use super::super::tensor::Tensor;

/// Window functions shared by these shaders.
const WINDOW: &str = include_str!("../../shader/pool/pool_window.wgsl");
const LARGEST: &str = include_str!("../../shader/pool/pool_largest.wgsl");
const MAXIMUM: &str = include_str!("../../shader/pool/pool_maximum.wgsl");
const MAXIMUM_GRADIENT: &str = include_str!("../../shader/pool/pool_maximum_gradient.wgsl");
const POSITIONS: &str = include_str!("../../shader/pool/pool_positions.wgsl");
const POSITIONS_GRADIENT: &str = include_str!("../../shader/pool/pool_positions_gradient.wgsl");
const AVERAGE: &str = include_str!("../../shader/pool/pool_average.wgsl");
const AVERAGE_GRADIENT: &str = include_str!("../../shader/pool/pool_average_gradient.wgsl");

/// The maximum number of elements in a window for which each input element searches for the maximum itself.
const SEARCHED_MAX: usize = 16;

/// Appends max pooling; padding does not count.
pub(crate) fn maximum(
    lowering: &mut Lowering<'_>,
    window: Window,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let (x, shape) = inputs[0];
    let source = constants(window, shape, output.1, None) + WINDOW + LARGEST + MAXIMUM;
    let kernel = Kernel::each("max pooling", &source, volume(output.1));
    lowering.run(kernel, &[("x", x)], &[("out", output.0)]);
}

/// Appends the gradient of max pooling, which goes to the first maximum of each window. `inputs` are the input and the
/// output gradient.
///
/// If windows overlap or are large, the positions of the maxima are computed first. They are numbers up to the size of
/// a plane, and need 32 bits.
pub(crate) fn maximum_gradient(
    lowering: &mut Lowering<'_>,
    window: Window,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let [(x, shape), (gradient, pooled)] = [inputs[0], inputs[1]];
    let common = constants(window, shape, pooled, None) + WINDOW;
    let overlap = (0..2).any(|axis| window.strides[axis] < window.span(axis));
    if !overlap && window.kernel[0] * window.kernel[1] <= SEARCHED_MAX {
        let source = common + LARGEST + MAXIMUM_GRADIENT;
        let kernel = Kernel::each("max pooling, gradient", &source, volume(shape));
        return lowering.run(kernel, &[("x", x), ("gradient", gradient)], &[("out", output.0)]);
    }
    let positions = lowering.temporary(volume(pooled));
    let source = [&common, LARGEST, POSITIONS].concat();
    let kernel = Kernel::each("max pooling, positions", &source, volume(pooled));
    lowering.run(kernel, &[("x", x)], &[("positions", positions)]);
    let kernel = Kernel::each("max pooling, gradient", &(common + POSITIONS_GRADIENT), volume(shape));
    lowering.run(kernel, &[("positions", positions), ("gradient", gradient)], &[("out", output.0)]);
}

/// Appends average pooling.
pub(crate) fn average(
    lowering: &mut Lowering<'_>,
    window: Window,
    counted_padding: Option<[usize; 2]>,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let (x, shape) = inputs[0];
    let source = constants(window, shape, output.1, counted_padding) + WINDOW + AVERAGE;
    let kernel = Kernel::each("average pooling", &source, volume(output.1));
    lowering.run(kernel, &[("x", x)], &[("out", output.0)]);
}

/// Appends the gradient of average pooling: the output gradient in equal shares.
pub(crate) fn average_gradient(
    lowering: &mut Lowering<'_>,
    window: Window,
    counted_padding: Option<[usize; 2]>,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let (gradient, pooled) = inputs[0];
    let source = constants(window, output.1, pooled, counted_padding) + WINDOW + AVERAGE_GRADIENT;
    let kernel = Kernel::each("average pooling, gradient", &source, volume(output.1));
    lowering.run(kernel, &[("gradient", gradient)], &[("out", output.0)]);
}

/// Returns WGSL constants for the geometry. `input` and `output` are the shapes `[.., height, width]` of the pooled
/// tensor and of the result.
fn constants(
    window: Window,
    input: &[usize],
    output: &[usize],
    counted_padding: Option<[usize; 2]>,
) -> String {
    let plane = |shape: &[usize]| [shape[shape.len() - 2], shape[shape.len() - 1]];
    let (input, output) = (plane(input), plane(output));
    let padded = [0, 1].map(|axis| input[axis] + window.pads[axis]);
    let (counted_start, counted_end) = match counted_padding {
        Some(end) => ([0, 0], [padded[0] + end[0], padded[1] + end[1]]),
        None => (window.pads, padded),
    };
    let pairs = [
        ("KERNEL", window.kernel),
        ("SPAN", [window.span(0), window.span(1)]),
        ("STRIDES", window.strides),
        ("DILATIONS", window.dilations),
        ("PADS", window.pads),
        ("INPUT", input),
        ("OUTPUT", output),
        ("COUNTED_START", counted_start),
        ("COUNTED_END", counted_end),
    ];
    let pair =
        |(name, [y, x]): (&str, [usize; 2])| format!("const {name}: vec2<u32> = vec2<u32>({y}u, {x}u);\n");
    pairs.map(pair).concat()
}
