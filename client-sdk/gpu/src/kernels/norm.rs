//! Computes the L2 norm of a gradient, and whether all of the gradient is finite.

use super::super::lowering::{Kernel, WORKGROUP};

const PARTS: &str = include_str!("../../shader/norm/norm_parts.wgsl");
const TOTAL: &str = include_str!("../../shader/norm/norm.wgsl");
/// Adds up over the invocations of a workgroup.
const SUM: &str = include_str!("../../shader/norm/norm_sum.wgsl");

/// The smallest number of elements per invocation before another workgroup is used.
const ELEMENTS_OF_LANE: usize = 16;
/// The maximum number of workgroups in the first dispatch.
const PARTS_MAX: usize = 1024;
/// The number of values that each workgroup writes.
const NUMBERS: usize = 3;

/// Returns the number of elements of the tensor `partial`.
pub(crate) fn partials(elements: usize) -> usize {
    parts(elements) * NUMBERS
}

/// Returns the kernel that sums squares for parts of a gradient: it reads `gradient` and writes `partial`.
///
/// Sums are added in a tree whose order depends only on the number of elements. Squares of large elements are scaled
/// and summed separately, so that none overflows. Elements below 1e-19 count as 0.
pub(crate) fn parts_kernel(elements: usize) -> Kernel {
    let (parts, flops) = (parts(elements), 2 * elements as u64);
    let constants =
        format!("const LENGTH: u32 = {elements}u;\nconst PART: u32 = {}u;\n", elements.div_ceil(parts));
    let source = [&constants, SUM, PARTS].concat();
    let workgroups = [parts as u32, 1, 1];
    Kernel { name: "gradient norm, parts", source, workgroups, flops, reads_step: false }
}

/// Returns the kernel that computes the norm and the gradient's factor. The kernel reads `partial`, and `scale` if the
/// loss is scaled. It writes the three elements of `norm`.
///
/// The elements are: the norm without the loss scale; 1 if every element is finite, else 0; and the factor of the
/// gradient.
/// The factor removes the scale and limits the norm to `norm_max`, like `processor/clipping.rs` of the engine.
pub(crate) fn kernel(elements: usize, norm_max: Option<f32>, is_loss_scaled: bool) -> Kernel {
    let constants = format!(
        "const PARTS: u32 = {}u;\nconst CLIPS: bool = {};\nconst NORM_MAX: f32 = {:?}f;\n",
        parts(elements),
        norm_max.is_some(),
        norm_max.unwrap_or(1.0)
    );
    let scale = match is_loss_scaled {
        true => "fn loss_scale() -> f32 { return load_scale(0u); }\n",
        false => "fn loss_scale() -> f32 { return 1.0; }\n",
    };
    let source = [&constants, scale, SUM, TOTAL].concat();
    Kernel { name: "gradient norm", source, workgroups: [1, 1, 1], flops: 0, reads_step: false }
}

fn parts(elements: usize) -> usize {
    elements.div_ceil(WORKGROUP as usize * ELEMENTS_OF_LANE).clamp(1, PARTS_MAX)
}
