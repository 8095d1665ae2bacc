//! Convolutions with one input channel per group: every output row is a sum of shifted, scaled input rows. Slower than
//! `depthwise`, and fewer bytes: browsers load these.

use super::conv_shape::Conv;
use crate::cpu::element::Element;

/// Returns the number of workspace elements for each thread.
#[cfg(target_family = "wasm")]
pub(super) fn scratch(_: &Conv) -> usize {
    0
}

pub(super) fn forward<E: Element>(conv: &Conv, x: &[E], filter: &[E], out: &mut [E], _: &mut [E], _: usize) {
    out.fill(E::ZERO);
    let kernel = conv.window.kernel[0] * conv.window.kernel[1];
    each_row(conv, |rows, offset, weight| {
        let factor = filter[weight * kernel + offset];
        let x = &x[rows.input..];
        let out = &mut out[rows.output..rows.output + rows.length];
        match rows.stride {
            1 => out.iter_mut().zip(x).for_each(|(out, x)| *out += factor * *x),
            stride => out.iter_mut().zip(x.iter().step_by(stride)).for_each(|(out, x)| *out += factor * *x),
        }
    });
}

pub(super) fn input_gradient<E: Element>(
    conv: &Conv,
    gradient: &[E],
    filter: &[E],
    out: &mut [E],
    _: &mut [E],
    _: usize,
) {
    out.fill(E::ZERO);
    let kernel = conv.window.kernel[0] * conv.window.kernel[1];
    each_row(conv, |rows, offset, weight| {
        let factor = filter[weight * kernel + offset];
        let out = &mut out[rows.input..];
        let gradient = &gradient[rows.output..rows.output + rows.length];
        match rows.stride {
            1 => out.iter_mut().zip(gradient).for_each(|(out, g)| *out += factor * *g),
            stride => out.iter_mut().step_by(stride).zip(gradient).for_each(|(out, g)| *out += factor * *g),
        }
    });
}

pub(super) fn filter_gradient<E: Element>(
    conv: &Conv,
    gradient: &[E],
    x: &[E],
    out: &mut [E],
    _: &mut [E],
    _: usize,
) {
    out.fill(E::ZERO);
    let kernel = conv.window.kernel[0] * conv.window.kernel[1];
    each_row(conv, |rows, offset, weight| {
        let gradient = &gradient[rows.output..rows.output + rows.length];
        let products = gradient.iter().zip(x[rows.input..].iter().step_by(rows.stride));
        out[weight * kernel + offset] += products.fold(E::ZERO, |sum, (g, x)| g.multiply_add(*x, sum));
    });
}

/// A run of outputs in one row, and the positions of their inputs.
struct Rows {
    input: usize,
    output: usize,
    length: usize,
    stride: usize,
}

/// Calls `visit(rows, offset in the window, output channel)` for every row of every window position.
fn each_row(conv: &Conv, mut visit: impl FnMut(Rows, usize, usize)) {
    let ([channels, height, width], [outputs, out_height, out_width]) = (conv.input, conv.output);
    let window = &conv.window;
    let per_channel = outputs / channels;
    for plane in 0..conv.images * outputs {
        let (image, output) = (plane / outputs, plane % outputs);
        let input_plane = (image * channels + output / per_channel) * height * width;
        for i in 0..window.kernel[0] {
            for j in 0..window.kernel[1] {
                let columns = window.valid_outputs(1, j, width, out_width);
                if columns.is_empty() {
                    continue;
                }
                let first = columns.start * window.strides[1] + j * window.dilations[1] - window.pads[1];
                for y in window.valid_outputs(0, i, height, out_height) {
                    let line = y * window.strides[0] + i * window.dilations[0] - window.pads[0];
                    let rows = Rows {
                        input: input_plane + line * width + first,
                        output: (plane * out_height + y) * out_width + columns.start,
                        length: columns.len(),
                        stride: window.strides[1],
                    };
                    visit(rows, i * window.kernel[1] + j, output);
                }
            }
        }
    }
}
