//! Sums the values of all positions that refer to the same row of a table: the gradient of gathering.

use folkmoot_graph::op::volume;

use super::super::lowering::{Kernel, Lowering};
use super::super::tensor::Tensor;
use super::gather::Table;
use super::product::{add_parts, constants};

const SEARCH: &str = include_str!("../../shader/scatter/scatter_search.wgsl");
const CLEAR: &str = include_str!("../../shader/scatter/scatter_clear.wgsl");
const LINK: &str = include_str!("../../shader/scatter/scatter_link.wgsl");
const SUM: &str = include_str!("../../shader/scatter/scatter_sum.wgsl");

/// The maximum number of useless reads of positions. If a search would need more, linked lists are used.
const SEARCHES_MAX: usize = 1 << 22;
/// The approximate number of searching invocations that keeps a GPU busy. If there are fewer, several share an element.
const INVOCATIONS_WANTED: usize = 1 << 16;
/// The minimum number of positions that an invocation reads.
const PART_MIN: usize = 64;
/// The maximum number of invocations that share an element.
const PARTS_MAX: usize = 64;

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
        return search(lowering, &source(SEARCH), table.positions, reads, output.0);
    }
    let links = lowering.temporary(table.positions);
    lowering.run(Kernel::each("scatter, zeros", CLEAR, outputs), &[], &writes);
    let link = Kernel::each("scatter, links", &source(LINK), table.positions);
    lowering.run(link, &[reads[1]], &[("links", links)]);
    let sum = Kernel::each("scatter, sums", &source(SUM), values_count);
    lowering.run(sum, &[reads[0], reads[1], ("links", links)], &writes);
}

/// Appends the kernels in which each element of a small table searches for its values. The number of invocations that
/// share an element depends only on the shapes, so that the order of the sum is the same on every GPU.
fn search(
    lowering: &mut Lowering<'_>,
    source: &str,
    positions: usize,
    reads: [(&'static str, Tensor); 2],
    output: Tensor,
) {
    let outputs = lowering.length(output);
    let parts = (INVOCATIONS_WANTED / outputs.max(1)).min(positions / PART_MIN).clamp(1, PARTS_MAX);
    let sizes = constants(&[("OUTPUTS", outputs), ("PART", positions.div_ceil(parts))]);
    let kernel = Kernel::each("scatter", &(sizes + source), outputs * parts);
    if parts == 1 {
        return lowering.run(kernel, &reads, &[("out", output)]);
    }
    let partial = lowering.temporary(outputs * parts);
    lowering.run(kernel, &reads, &[("out", partial)]);
    let sums = add_parts("scatter", "", "store_out(i, sum);", outputs, parts);
    lowering.run(sums, &[("part", partial)], &[("out", output)]);
}
