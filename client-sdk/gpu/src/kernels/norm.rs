//! The L2 norm of a gradient, and whether all of it is finite.

use super::super::lowering::{Kernel, WORKGROUP};

const PARTS: &str = include_str!("../../shader/norm/norm_parts.wgsl");
const TOTAL: &str = include_str!("../../shader/norm/norm.wgsl");
/// Sums over the invocations of a workgroup.
const SUM: &str = include_str!("../../shader/norm/norm_sum.wgsl");

/// Elements that one invocation squares, at least, before another workgroup helps.
const ELEMENTS_OF_LANE: usize = 16;
/// Workgroups of the first dispatch, at most.
const PARTS_MAX: usize = 1024;
/// Numbers that each workgroup leaves behind.
const NUMBERS: usize = 3;

/// Elements of the tensor `partial`.
pub(crate) fn partials(elements: usize) -> usize {
    parts(elements) * NUMBERS
}

/// Sums of squares for parts of a gradient: reads `gradient`, writes `partial`.
///
/// Sums are added up in a tree, whose order only the number of elements decides. Squares of large elements are kept
/// apart and scaled, so that none overflows; elements below 1e-19 count as 0.
pub(crate) fn parts_kernel(elements: usize) -> Kernel {
    let (parts, flops) = (parts(elements), 2 * elements as u64);
    let constants =
        format!("const LENGTH: u32 = {elements}u;\nconst PART: u32 = {}u;\n", elements.div_ceil(parts));
    let source = [&constants, SUM, PARTS].concat();
    let workgroups = [parts as u32, 1, 1];
    Kernel { name: "gradient norm, parts", source, workgroups, flops, reads_step: false }
}

/// The norm and what follows from it: reads `partial`, and `scale` where the loss is scaled, and writes the three
/// elements of `norm`.
///
/// These are the norm without the scale, 1 if every element is finite, else 0, and the factor of the gradient: it takes
/// out the scale, and brings the norm to at most `norm_max`, as `train/clipping.rs` does.
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
