//! The position of the maximum along an axis.

use folkmoot_graph::op::volume;

use super::super::lowering::{Kernel, Lowering};
use super::super::tensor::Tensor;
use super::reduce::{Axes, Tiles};

const SHADER: &str = include_str!("../../shader/shared/argument.wgsl");

/// Appends the search for the position of the first maximum along `axis`, or of the last.
pub(crate) fn lower(
    lowering: &mut Lowering<'_>,
    axis: usize,
    last: bool,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let (x, shape) = inputs[0];
    let outputs = volume(output.1);
    if outputs == 0 {
        return;
    }
    let is_reduced: Vec<bool> = (0..shape.len()).map(|other| other == axis).collect();
    let axes = Axes::new(shape, &is_reduced);
    let tiles = Tiles::new(&axes, outputs, false);
    let last = format!("const LAST: bool = {last};\n");
    let source = [&tiles.constants(), &axes.functions(), &last, SHADER].concat();
    let workgroups = tiles.workgroups();
    let kernel = Kernel { name: "argument of the maximum", source, workgroups, flops: 0, reads_step: false };
    lowering.run(kernel, &[("x", x)], &[("out", output.0)]);
}
