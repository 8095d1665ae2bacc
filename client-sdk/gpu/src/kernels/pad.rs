//! Writes a tensor into zeros at regular distances: padding, and the gradient of slices.

use std::fmt::Write;

use folkmoot_graph::op::{strides, volume};

use super::super::lowering::{Kernel, Lowering};
use super::super::tensor::Tensor;

const SHADER: &str = include_str!("../../shader/shared/pad.wgsl");

/// Writes to positions `starts + i · steps` of zeros. Each output element searches for its input element.
pub(crate) fn lower(
    lowering: &mut Lowering<'_>,
    starts: &[usize],
    steps: &[isize],
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let (x, sizes) = inputs[0];
    let kernel = Kernel::each("pad", &(find(starts, steps, sizes, output.1) + SHADER), volume(output.1));
    lowering.run(kernel, &[("x", x)], &[("out", output.0)]);
}

/// Neighbouring output axes that are written in full and merged, or one axis that is written in part.
struct Axis {
    /// The sizes in the output and in the input.
    sizes: [usize; 2],
    start: usize,
    step: isize,
}

impl Axis {
    fn is_full(&self) -> bool {
        self.sizes[0] == self.sizes[1] && self.start == 0 && (self.step == 1 || self.sizes[0] == 1)
    }
}

fn merged(starts: &[usize], steps: &[isize], sizes: &[usize], out: &[usize]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for axis in 0..out.len() {
        let own = Axis { sizes: [out[axis], sizes[axis]], start: starts[axis], step: steps[axis] };
        match axes.last_mut() {
            Some(outer) if outer.is_full() && own.is_full() => {
                outer.sizes = outer.sizes.map(|size| size * own.sizes[0]);
                outer.step = 1;
            }
            _ => axes.push(own),
        }
    }
    axes
}

/// Returns WGSL: `find(index)` is the input element for this output element, or `NOWHERE`.
fn find(starts: &[usize], steps: &[isize], sizes: &[usize], out: &[usize]) -> String {
    let axes = merged(starts, steps, sizes, out);
    let extents = [0, 1].map(|side| axes.iter().map(|axis| axis.sizes[side]).collect::<Vec<usize>>());
    let own = strides(&extents[1]);
    let mut body = "fn find(index: u32) -> u32 {\n    var rest = index;\n    var at = 0u;\n".to_owned();
    for (axis, stride) in axes.iter().zip(own).rev() {
        let ([size, length], step) = (axis.sizes, axis.step.unsigned_abs());
        let (difference, is_before) = match axis.step > 0 {
            true => (format!("place - {}u", axis.start), format!("place < {}u", axis.start)),
            false => (format!("{}u - place", axis.start), format!("place > {}u", axis.start)),
        };
        let text = match axis.is_full() {
            true => format!("    at += (rest % {0}u) * {stride}u;\n    rest /= {0}u;\n", size.max(1)),
            false => format!(
                "    {{\n        let place = rest % {0}u;\n        rest /= {0}u;\n        \
                 let way = {difference};\n        \
                 if {is_before} || way % {step}u != 0u || way / {step}u >= {length}u {{ return NOWHERE; }}\n        \
                 at += way / {step}u * {stride}u;\n    }}\n",
                size.max(1)
            ),
        };
        write!(body, "{text}").expect("a string takes any text");
    }
    body + "    return at;\n}\n"
}
