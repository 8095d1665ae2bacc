//! Gathers rows of a table by position.

use folkmoot_graph::op::volume;

use super::super::lowering::{Kernel, Lowering};
use super::super::tensor::Tensor;

const SHADER: &str = include_str!("../../shader/gather.wgsl");
/// Defines `row_of`, the row of a position.
const POSITION: &str = include_str!("../../shader/shared/position.wgsl");

/// Appends `data[.., positions, ..]` along the axis. `inputs` are data and positions.
pub(crate) fn lower(
    lowering: &mut Lowering<'_>,
    axis: usize,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let [(data, shape), (positions, position_shape)] = [inputs[0], inputs[1]];
    let table = Table::new(shape, axis, volume(position_shape));
    let kernel = Kernel::each("gather", &(table.functions() + SHADER), volume(output.1));
    lowering.run(kernel, &[("data", data), ("positions", positions)], &[("out", output.0)]);
}

/// A tensor `[outer, size, inner]`, read or written at positions along its middle axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    pub(super) size: usize,
    pub(super) inner: usize,
    pub(super) positions: usize,
}

impl Table {
    pub(super) fn new(shape: &[usize], axis: usize, positions: usize) -> Self {
        Self { size: shape[axis], inner: shape[axis + 1..].iter().product(), positions }
    }

    /// Returns WGSL with the constants and `row_of(position)`.
    pub(super) fn functions(&self) -> String {
        // Avoids constant division by 0 if a tensor is empty; the shader does not run then.
        let [size, inner, positions] = [self.size, self.inner, self.positions].map(|number| number.max(1));
        format!(
            "const SIZE: u32 = {size}u;\nconst INNER: u32 = {inner}u;\nconst POSITIONS: u32 = {positions}u;\n\
             {POSITION}"
        )
    }
}
