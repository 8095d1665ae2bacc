//! Depthwise convolutions. They have too few multiplications for the tiles of a matrix product. So each invocation
//! computes several neighbours, and reads their shared elements once.

use std::collections::BTreeSet;

use super::super::lowering::{Kernel, Lowering};
use super::super::tensor::Tensor;
use super::geometry::Geometry;
use super::product::{add_parts, constants, lines};

const FORWARD: &str = include_str!("../../shader/depthwise.wgsl");
const INPUT_GRADIENT: &str = include_str!("../../shader/conv/depthwise_input_gradient.wgsl");
const FILTER_GRADIENT: &str = include_str!("../../shader/conv/depthwise_filter_gradient.wgsl");

/// The number of neighbours along a row, one stride apart, that an invocation computes.
const BLOCK: usize = 4;
/// The approximate number of invocations that keeps a GPU busy.
const INVOCATIONS_WANTED: usize = 1 << 14;
/// The smallest number of output rows that an invocation adds up for the filter gradient.
const ROWS_MIN: usize = 8;

/// Appends a convolution. `reads` are the input and the filters.
pub(super) fn forward(lowering: &mut Lowering<'_>, geometry: &Geometry, reads: [Tensor; 2], output: Tensor) {
    let [stride, dilation] = [geometry.window.strides[1], geometry.window.dilations[1]];
    let products = (0..geometry.window.kernel[1] * BLOCK).map(|index| {
        let (offset, neighbour) = (index / BLOCK, index % BLOCK);
        Multiplication { neighbour, offset, position: (neighbour * stride + offset * dilation) as isize }
    });
    let block = Block { name: "convolution", size: BLOCK, products: products.collect() };
    let kernel = block.kernel(FORWARD, geometry, geometry.output);
    lowering.run(kernel, &[("x", reads[0]), ("filter", reads[1])], &[("out", output)]);
}

/// Appends the input gradient. `reads` are the output gradient and the filters.
pub(super) fn input_gradient(
    lowering: &mut Lowering<'_>,
    geometry: &Geometry,
    reads: [Tensor; 2],
    output: Tensor,
) {
    let [stride, dilation, pad] =
        [geometry.window.strides[1], geometry.window.dilations[1], geometry.window.pads[1]]
            .map(|size| size as isize);
    // A block begins at a multiple of the stride, so its neighbours are read at known offsets.
    let size = BLOCK * geometry.window.strides[1];
    let products = (0..geometry.window.kernel[1] * size).filter_map(|index| {
        let (offset, neighbour) = (index / size, index % size);
        let across = neighbour as isize + pad - offset as isize * dilation;
        (across % stride == 0).then_some(Multiplication { neighbour, offset, position: across / stride })
    });
    let block = Block { name: "convolution, gradient of the input", size, products: products.collect() };
    let kernel = block.kernel(INPUT_GRADIENT, geometry, geometry.input);
    lowering.run(kernel, &[("gradient", reads[0]), ("filter", reads[1])], &[("out", output)]);
}

/// Appends the filter gradient. `reads` are the output gradient and the input.
pub(super) fn filter_gradient(
    lowering: &mut Lowering<'_>,
    geometry: &Geometry,
    reads: [Tensor; 2],
    output: Tensor,
) {
    let [kernel_height, kernel_width] = geometry.window.kernel;
    let (outputs, rows) = (lowering.length(output), geometry.images * geometry.output[1]);
    let invocations = geometry.output[0] * kernel_height;
    let parts = (INVOCATIONS_WANTED / invocations.max(1)).min(rows / ROWS_MIN).max(1);
    let numbers = [("ROWS", rows), ("PARTS", parts), ("PART", rows.div_ceil(parts)), ("FILTERS", outputs)];
    let multiply = lines(kernel_width, |j| {
        format!("sum{j} = fma(gradient, row_value(row, x + {}u), sum{j});", j * geometry.window.dilations[1])
    });
    let source = FILTER_GRADIENT
        .replace("//SUMS", &lines(kernel_width, |j| format!("var sum{j} = 0.0;")))
        .replace("//MULTIPLY", &multiply)
        .replace("//STORE", &lines(kernel_width, |j| format!("store_part(first + {j}u, sum{j});")));
    let source = [&*geometry.constants(), &constants(&numbers), &source].concat();
    let name = "convolution, gradient of the filter";
    let kernel =
        Kernel { flops: geometry.depthwise_flops(), ..Kernel::each(name, &source, invocations * parts) };
    let partial = lowering.temporary(outputs * parts);
    lowering.run(kernel, &[("gradient", reads[0]), ("x", reads[1])], &[("part", partial)]);
    let sums = add_parts(name, "", "store_out(i, sum);", outputs, parts);
    lowering.run(sums, &[("part", partial)], &[("out", output)]);
}

/// One multiplication in a row of a window: the element at `position`, relative to the block's first pixel, times the
/// filter element at `offset`.
struct Multiplication {
    /// The pixel of the block to whose sum the product is added.
    neighbour: usize,
    offset: usize,
    position: isize,
}

/// The neighbours along a row that an invocation computes.
struct Block {
    name: &'static str,
    size: usize,
    products: Vec<Multiplication>,
}

impl Block {
    /// Returns the kernel of a shader, for a result with this many channels, rows and columns.
    fn kernel(&self, shader: &str, geometry: &Geometry, [channels, height, width]: [usize; 3]) -> Kernel {
        let blocks = width.div_ceil(self.size);
        let store = lines(self.size, |neighbour| {
            format!("if x + {neighbour}u < {width}u {{ store_out(first + {neighbour}u, sum{neighbour}); }}")
        });
        let main = shader
            .replace("//SUMS", &lines(self.size, |neighbour| format!("var sum{neighbour} = 0.0;")))
            .replace("//MULTIPLY", &self.multiply())
            .replace("//STORE", &store);
        let numbers = constants(&[("BLOCKS", blocks), ("BLOCK", self.size)]);
        let source = [&*geometry.constants(), &geometry.phase_constants(), &numbers, &main].concat();
        let kernel = Kernel::each(self.name, &source, geometry.images * channels * height * blocks);
        Kernel { flops: geometry.depthwise_flops(), ..kernel }
    }

    /// Returns WGSL for one row of the window, for all neighbours. It reads each element once.
    fn multiply(&self) -> String {
        let positions: BTreeSet<isize> = self.products.iter().map(|product| product.position).collect();
        let offsets: BTreeSet<usize> = self.products.iter().map(|product| product.offset).collect();
        // Left of the first element, positions wrap around.
        let values = positions.iter().map(|position| {
            format!("let {} = row_value(row, left + {}u);\n", value(*position), *position as i32 as u32)
        });
        let filters = offsets
            .iter()
            .map(|offset| format!("let filter{offset} = load_filter(filter_row + {offset}u);\n"));
        let sums = self.products.iter().map(|Multiplication { neighbour, offset, position }| {
            format!("sum{neighbour} = fma(filter{offset}, {}, sum{neighbour});\n", value(*position))
        });
        values.chain(filters).chain(sums).collect()
    }
}

/// Returns the name of the element at a position.
fn value(position: isize) -> String {
    let side = if position < 0 { "before" } else { "value" };
    format!("{side}{}", position.unsigned_abs())
}
