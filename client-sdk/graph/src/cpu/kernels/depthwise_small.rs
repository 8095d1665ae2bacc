//! Depthwise convolutions of small planes: the images are the innermost axis, so that one position of all images is one
//! vector, however small a plane is.

use super::conv_shape::Conv;
use super::vectorised;
use crate::cpu::element::Element;
use crate::cpu::threads::{Shared, spread};

/// The number of images that are computed together.
const IMAGES: usize = 32;
/// The maximum number of positions of a plane.
const PLANE_MAX: usize = 64;

/// Returns whether these kernels are faster: the planes must be small, and there must be many images.
pub(super) fn is_better(conv: &Conv) -> bool {
    let plane = |image: [usize; 3]| image[1] * image[2];
    2 * conv.images >= IMAGES && plane(conv.input) <= PLANE_MAX && plane(conv.output) <= PLANE_MAX
}

/// Returns the number of workspace elements for each thread.
pub(super) fn scratch(conv: &Conv) -> usize {
    (conv.group(conv.input) + conv.columns()) * IMAGES
}

pub(super) fn forward<E: Element>(
    conv: &Conv,
    x: &[E],
    filter: &[E],
    out: &mut [E],
    scratch: &mut [E],
    threads: usize,
) {
    let shared = Shared {
        reads: (x, conv.image(conv.input)),
        writes: (out, conv.image(conv.output)),
        scratch: (scratch, self::scratch(conv)),
        units: 0..conv.images,
    };
    spread(shared, threads, &|_, x, out, scratch| {
        vectorised(
            #[inline(always)]
            || {
                let outs = out.chunks_mut(IMAGES * conv.image(conv.output));
                for (x, out) in x.chunks(IMAGES * conv.image(conv.input)).zip(outs) {
                    forward_images(conv, x, filter, out, scratch);
                }
            },
        );
    });
}

#[inline(always)]
fn forward_images<E: Element>(conv: &Conv, x: &[E], filter: &[E], out: &mut [E], scratch: &mut [E]) {
    let per_channel = conv.output[0] / conv.groups;
    let kernel = conv.window.kernel[0] * conv.window.kernel[1];
    let (inputs, outputs) = split(conv, scratch);
    for channel in 0..conv.groups {
        gather(x, conv.input, channel, inputs);
        for channel in channel * per_channel..(channel + 1) * per_channel {
            let weights = &filter[channel * kernel..][..kernel];
            for (position, output) in outputs.iter_mut().enumerate() {
                let mut sums = [E::ZERO; IMAGES];
                each_input(conv, position, |tap, input| {
                    add_product(&mut sums, &inputs[input], weights[tap]);
                });
                *output = sums;
            }
            scatter(outputs, conv.output, channel, out);
        }
    }
}

pub(super) fn input_gradient<E: Element>(
    conv: &Conv,
    gradient: &[E],
    filter: &[E],
    out: &mut [E],
    scratch: &mut [E],
    threads: usize,
) {
    let shared = Shared {
        reads: (gradient, conv.image(conv.output)),
        writes: (out, conv.image(conv.input)),
        scratch: (scratch, self::scratch(conv)),
        units: 0..conv.images,
    };
    spread(shared, threads, &|_, gradient, out, scratch| {
        vectorised(
            #[inline(always)]
            || {
                let outs = out.chunks_mut(IMAGES * conv.image(conv.input));
                for (gradient, out) in gradient.chunks(IMAGES * conv.image(conv.output)).zip(outs) {
                    input_gradient_images(conv, gradient, filter, out, scratch);
                }
            },
        );
    });
}

#[inline(always)]
fn input_gradient_images<E: Element>(
    conv: &Conv,
    gradient: &[E],
    filter: &[E],
    out: &mut [E],
    scratch: &mut [E],
) {
    let per_channel = conv.output[0] / conv.groups;
    let kernel = conv.window.kernel[0] * conv.window.kernel[1];
    let (inputs, outputs) = split(conv, scratch);
    for channel in 0..conv.groups {
        inputs.fill([E::ZERO; IMAGES]);
        for channel in channel * per_channel..(channel + 1) * per_channel {
            gather(gradient, conv.output, channel, outputs);
            let weights = &filter[channel * kernel..][..kernel];
            for (position, output) in outputs.iter().enumerate() {
                each_input(conv, position, |tap, input| {
                    add_product(&mut inputs[input], output, weights[tap]);
                });
            }
        }
        scatter(inputs, conv.input, channel, out);
    }
}

pub(super) fn filter_gradient<E: Element>(
    conv: &Conv,
    gradient: &[E],
    x: &[E],
    out: &mut [E],
    scratch: &mut [E],
    threads: usize,
) {
    let shared = Shared {
        reads: (&[], 0),
        writes: (out, conv.filter_size() / conv.groups),
        scratch: (scratch, self::scratch(conv)),
        units: 0..conv.groups,
    };
    spread(shared, threads, &|channel, _, out, scratch| {
        vectorised(
            #[inline(always)]
            || filter_gradient_channels(conv, channel, gradient, x, out, scratch),
        );
    });
}

/// Computes the filter gradients of the input channels from `first` that `out` has room for.
#[inline(always)]
fn filter_gradient_channels<E: Element>(
    conv: &Conv,
    first: usize,
    gradient: &[E],
    x: &[E],
    out: &mut [E],
    scratch: &mut [E],
) {
    let per_channel = conv.output[0] / conv.groups;
    let kernel = conv.window.kernel[0] * conv.window.kernel[1];
    let (inputs, outputs) = split(conv, scratch);
    out.fill(E::ZERO);
    for (index, out) in out.chunks_exact_mut(per_channel * kernel).enumerate() {
        let images = x.chunks(IMAGES * conv.image(conv.input));
        for (x, gradient) in images.zip(gradient.chunks(IMAGES * conv.image(conv.output))) {
            gather(x, conv.input, first + index, inputs);
            for (part, out) in out.chunks_exact_mut(kernel).enumerate() {
                gather(gradient, conv.output, (first + index) * per_channel + part, outputs);
                for (tap, out) in out.iter_mut().enumerate() {
                    *out += products(conv, tap, inputs, outputs);
                }
            }
        }
    }
}

/// Returns the sum of the products of all outputs with the inputs that they read at one position of the window.
#[inline(always)]
fn products<E: Element>(conv: &Conv, tap: usize, inputs: &[[E; IMAGES]], outputs: &[[E; IMAGES]]) -> E {
    let offset = [tap / conv.window.kernel[1], tap % conv.window.kernel[1]];
    let mut sums = [E::ZERO; IMAGES];
    let columns = conv.window.valid_outputs(1, offset[1], conv.input[2], conv.output[2]);
    for row in conv.window.valid_outputs(0, offset[0], conv.input[1], conv.output[1]) {
        let line = row * conv.window.strides[0] + offset[0] * conv.window.dilations[0] - conv.window.pads[0];
        for column in columns.clone() {
            let at =
                column * conv.window.strides[1] + offset[1] * conv.window.dilations[1] - conv.window.pads[1];
            let (input, output) =
                (&inputs[line * conv.input[2] + at], &outputs[row * conv.output[2] + column]);
            for ((sum, input), output) in sums.iter_mut().zip(input).zip(output) {
                *sum += *input * *output;
            }
        }
    }
    sums.into_iter().fold(E::ZERO, |sum, lane| sum + lane)
}

/// Calls `visit(position in the window, position in the input plane)` for the inputs that an output reads.
#[inline(always)]
fn each_input(conv: &Conv, output: usize, mut visit: impl FnMut(usize, usize)) {
    let (row, column) = (output / conv.output[2], output % conv.output[2]);
    let kernel = conv.window.kernel;
    for i in 0..kernel[0] {
        let Some(y) = conv.window.input_position(0, row, i, conv.input[1]) else { continue };
        for j in 0..kernel[1] {
            if let Some(x) = conv.window.input_position(1, column, j, conv.input[2]) {
                visit(i * kernel[1] + j, y * conv.input[2] + x);
            }
        }
    }
}

#[inline(always)]
fn add_product<E: Element>(sums: &mut [E; IMAGES], factors: &[E; IMAGES], weight: E) {
    for (sum, factor) in sums.iter_mut().zip(factors) {
        *sum += *factor * weight;
    }
}

/// Divides the workspace into the positions of an input plane and of an output plane.
#[inline(always)]
fn split<'a, E: Element>(
    conv: &Conv,
    scratch: &'a mut [E],
) -> (&'a mut [[E; IMAGES]], &'a mut [[E; IMAGES]]) {
    let (positions, _) = scratch[..self::scratch(conv)].as_chunks_mut();
    positions.split_at_mut(conv.group(conv.input))
}

/// Reads a channel of up to [`IMAGES`] images; other images are 0.
#[inline(always)]
fn gather<E: Element>(images: &[E], image: [usize; 3], channel: usize, positions: &mut [[E; IMAGES]]) {
    let plane = image[1] * image[2];
    let planes = images.chunks_exact(image[0] * plane);
    for empty in planes.len()..IMAGES {
        positions.iter_mut().for_each(|position| position[empty] = E::ZERO);
    }
    for (index, image) in planes.enumerate() {
        for (position, element) in positions.iter_mut().zip(&image[channel * plane..][..plane]) {
            position[index] = *element;
        }
    }
}

/// Writes a channel of up to [`IMAGES`] images.
#[inline(always)]
fn scatter<E: Element>(positions: &[[E; IMAGES]], image: [usize; 3], channel: usize, images: &mut [E]) {
    let plane = image[1] * image[2];
    for (index, image) in images.chunks_exact_mut(image[0] * plane).enumerate() {
        for (position, element) in positions.iter().zip(&mut image[channel * plane..][..plane]) {
            *element = position[index];
        }
    }
}
