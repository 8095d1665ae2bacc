//! Sums the values of all positions that refer to the same row of a table: the gradient of gathering.

use folkmoot_graph::op::volume;

use super::super::lowering::{Kernel, Lowering};
use super::super::tensor::Tensor;
use super::gather::Table;

const SEARCH: &str = include_str!("../../shader/scatter/scatter_search.wgsl");
const CLEAR: &str = include_str!("../../shader/scatter/scatter_clear.wgsl");
const LINK: &str = include_str!("../../shader/scatter/scatter_link.wgsl");
const SUM: &str = include_str!("../../shader/scatter/scatter_sum.wgsl");

/// The maximum number of useless reads of positions. If a search would need more, linked lists are used.
const SEARCHES_MAX: usize = 1 << 22;

/// Adds every value to zeros at its position, in order and without atomics. `inputs` are values and positions.
///
/// In a small table, each element searches for its values. Otherwise the positions of each row form a linked list,
/// which the first position adds up. In that case `store_out` is called for zeros and then for sums. The links are
/// numbers up to the number of positions, and need 32 bits.
pub(crate) fn lower(
    lowering: &mut Lowering<'_>,
    axis: usize,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let [(values, shape), (positions, position_shape)] = [inputs[0], inputs[1]];
    let table = Table::new(output.1, axis, volume(position_shape));
    let (outputs, values_count) = (volume(output.1), volume(shape));
    let source = |shader: &str| table.functions() + shader;
    let reads = [("values", values), ("positions", positions)];
    let writes = [("out", output.0)];
    if values_count == 0 {
        return lowering.run(Kernel::each("scatter, zeros", CLEAR, outputs), &[], &writes);
    }
    if outputs.saturating_mul(table.positions) <= SEARCHES_MAX {
        return lowering.run(Kernel::each("scatter", &source(SEARCH), outputs), &reads, &writes);
    }
    let links = lowering.temporary(table.positions);
    lowering.run(Kernel::each("scatter, zeros", CLEAR, outputs), &[], &writes);
    let link = Kernel::each("scatter, links", &source(LINK), table.positions);
    lowering.run(link, &[reads[1]], &[("links", links)]);
    let sum = Kernel::each("scatter, sums", &source(SUM), values_count);
    lowering.run(sum, &[reads[0], reads[1], ("links", links)], &writes);
}
