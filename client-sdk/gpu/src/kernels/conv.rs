//! Convolutions as matrix products. The matrix of windows is never stored: the product's kernel reads its elements from
//! the image.

use folkmoot_graph::op::Window;

use super::super::lowering::Lowering;
use super::super::tensor::Tensor;
use super::depthwise;
use super::geometry::Geometry;
use super::product::{Product, STORE_ROW, constants, store_zeros};

const FORWARD: &str = include_str!("../../shader/conv.wgsl");
const INPUT_GRADIENT: &str = include_str!("../../shader/conv/conv_input_gradient.wgsl");
const FILTER_GRADIENT: &str = include_str!("../../shader/conv/conv_filter_gradient.wgsl");
/// Functions to read windows of an image.
const WINDOWS: &str = include_str!("../../shader/conv/windows.wgsl");
/// Functions for the pixels and offsets of a phase.
const PHASES: &str = include_str!("../../shader/conv/phases.wgsl");

const STORE_PIXEL: &str = "\
fn store_element(batch: u32, row: u32, column: u32, value: f32) {
    let channel = column / OUT_PLANE * OUT_CHANNELS + batch * GROUP_OUT_CHANNELS + row;
    store_out(channel * OUT_PLANE + column % OUT_PLANE, value);
}
";
const STORE_PHASE: &str = "\
fn store_element(batch: u32, row: u32, column: u32, value: f32) {
    let own = phase(batch);
    let y = own.down + PHASES_DOWN * (column / LINES_ACROSS % LINES_DOWN);
    let x = own.across + PHASES_ACROSS * (column % LINES_ACROSS);
    let image = column / (LINES_DOWN * LINES_ACROSS);
    if y < HEIGHT && x < WIDTH {
        store_out((image * CHANNELS + own.group * GROUP_CHANNELS + row) * PLANE + y * WIDTH + x, value);
    }
}
";

/// Appends a convolution of inputs with filters.
pub(crate) fn forward(
    lowering: &mut Lowering<'_>,
    window: Window,
    groups: usize,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let geometry = Geometry::new(window, groups, inputs[0].1, output.1);
    let reads = [("x", inputs[0].0), ("filter", inputs[1].0)];
    if geometry.is_empty() {
        return store_zeros(lowering, "convolution", output.0);
    }
    if geometry.is_depthwise() {
        return depthwise::forward(lowering, &geometry, reads.map(|(_, tensor)| tensor), output.0);
    }
    Product {
        name: "convolution",
        batches: groups,
        rows: geometry.output[0] / groups,
        terms: geometry.filter_size(),
        columns: geometry.images * geometry.pixels(),
        declarations: geometry.constants(),
        elements: [WINDOWS, FORWARD].concat(),
        store: STORE_PIXEL,
        a_along_k: true,
        b_along_k: false,
        reads,
        output: output.0,
    }
    .lower(lowering);
}

/// Appends the filter gradient, from the output gradient and the input.
pub(crate) fn filter_gradient(
    lowering: &mut Lowering<'_>,
    window: Window,
    groups: usize,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let geometry = Geometry::new(window, groups, inputs[1].1, inputs[0].1);
    let reads = [("gradient", inputs[0].0), ("x", inputs[1].0)];
    if geometry.is_empty() {
        return store_zeros(lowering, "convolution, gradient of the filter", output.0);
    }
    if geometry.is_depthwise() {
        return depthwise::filter_gradient(lowering, &geometry, reads.map(|(_, tensor)| tensor), output.0);
    }
    Product {
        name: "convolution, gradient of the filter",
        batches: groups,
        rows: geometry.output[0] / groups,
        terms: geometry.images * geometry.pixels(),
        columns: geometry.filter_size(),
        declarations: geometry.constants(),
        elements: [WINDOWS, FILTER_GRADIENT].concat(),
        store: STORE_ROW,
        a_along_k: true,
        b_along_k: true,
        reads,
        output: output.0,
    }
    .lower(lowering);
}

/// Appends the input gradient, from the output gradient and the filters.
///
/// With a stride, a pixel is read only at some of the window's offsets, and neighbouring pixels at different ones. Each
/// phase, the set of pixels with the same offsets, is computed as one matrix product.
pub(crate) fn input_gradient(
    lowering: &mut Lowering<'_>,
    window: Window,
    groups: usize,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let geometry = Geometry::new(window, groups, output.1, inputs[0].1);
    let reads = [("gradient", inputs[0].0), ("filter", inputs[1].0)];
    if geometry.is_empty() {
        return store_zeros(lowering, "convolution, gradient of the input", output.0);
    }
    if geometry.is_depthwise() {
        return depthwise::input_gradient(lowering, &geometry, reads.map(|(_, tensor)| tensor), output.0);
    }
    let phases = geometry.phases();
    let offsets = |axis: usize| window.kernel[axis].div_ceil(phases[axis].count);
    let lines = |axis: usize| geometry.input[axis + 1].div_ceil(phases[axis].count);
    let sizes = constants(&[
        ("OFFSETS_DOWN", offsets(0)),
        ("OFFSETS_ACROSS", offsets(1)),
        ("LINES_DOWN", lines(0)),
        ("LINES_ACROSS", lines(1)),
    ]);
    Product {
        name: "convolution, gradient of the input",
        batches: groups * phases[0].count * phases[1].count,
        rows: geometry.input[0] / groups,
        terms: geometry.output[0] / groups * offsets(0) * offsets(1),
        columns: geometry.images * lines(0) * lines(1),
        declarations: [&*geometry.constants(), &geometry.phase_constants(), &sizes, PHASES].concat(),
        elements: INPUT_GRADIENT.to_owned(),
        store: STORE_PHASE,
        a_along_k: true,
        b_along_k: false,
        reads,
        output: output.0,
    }
    .lower(lowering);
}
