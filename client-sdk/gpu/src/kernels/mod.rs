//! One file for each kind of kernel: it selects the variant for the shapes and writes the constants of its shader.

mod argument;
mod conv;
mod depthwise;
mod gather;
mod geometry;
mod join;
mod matmul;
mod norm;
mod optimizer;
mod pad;
mod pool;
mod product;
mod random;
mod reduce;
mod rows;
mod scatter;

pub(super) use norm::partials as norm_partials;
pub(super) use optimizer::{AdjustmentKind, slots as optimizer_slots, updates};
pub(super) use rows::Rows;

use folkmoot_graph::op::{Op, Reduction};

use super::lowering::Lowering;
use super::tensor::Tensor;

/// Appends the dispatches of an operator that is neither a chain nor a view.
///
/// `inputs` and `output` are given with their shapes.
pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    op: &Op,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    match op {
        Op::SumTo => {
            let (from, to) = (inputs[0].1, output.1);
            let padding = from.len() - to.len();
            let is_reduced = |axis: usize| axis < padding || (to[axis - padding] == 1 && from[axis] != 1);
            let is_reduced: Vec<bool> = (0..from.len()).map(is_reduced).collect();
            reduce::lower(lowering, Reduction::Sum, &is_reduced, inputs, output);
        }
        Op::Reduce { kind, axes } => {
            let is_reduced: Vec<bool> = (0..inputs[0].1.len()).map(|axis| axes.contains(&axis)).collect();
            reduce::lower(lowering, *kind, &is_reduced, inputs, output);
        }
        Op::ArgMaximum { axis, last } => argument::lower(lowering, *axis, *last, inputs, output),
        Op::MatMul { transpose_a, transpose_b } => {
            matmul::lower(lowering, *transpose_a, *transpose_b, inputs, output);
        }
        Op::Unslice { starts, steps } => pad::lower(lowering, starts, steps, inputs, output),
        Op::Concat { axis } => join::lower(lowering, *axis, inputs, output),
        Op::Gather { axis } => gather::lower(lowering, *axis, inputs, output),
        Op::ScatterAdd { axis } => scatter::lower(lowering, *axis, inputs, output),
        Op::Random { stream } => random::lower(lowering, *stream, output),
        _ => lower_windowed(lowering, op, inputs, output),
    }
}

fn lower_windowed(
    lowering: &mut Lowering<'_>,
    op: &Op,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    match op {
        Op::Conv { window, groups } => conv::forward(lowering, *window, *groups, inputs, output),
        Op::ConvInputGradient { window, groups } => {
            conv::input_gradient(lowering, *window, *groups, inputs, output);
        }
        Op::ConvFilterGradient { window, groups } => {
            conv::filter_gradient(lowering, *window, *groups, inputs, output);
        }
        Op::MaxPool { window } => pool::maximum(lowering, *window, inputs, output),
        Op::MaxPoolGradient { window } => pool::maximum_gradient(lowering, *window, inputs, output),
        Op::AveragePool { window, counted_padding } => {
            pool::average(lowering, *window, *counted_padding, inputs, output);
        }
        Op::AveragePoolGradient { window, counted_padding } => {
            pool::average_gradient(lowering, *window, *counted_padding, inputs, output);
        }
        _ => unreachable!("{} is a chain or a view", op.name()),
    }
}
