//! Convolutions with one input channel per group: every output plane is a sum of shifted, scaled input planes.
//!
//! A plane is first copied into a buffer with its padding. The lines of the output then have the same distance as
//! those of the buffer, so that one long loop computes a whole plane, however short its lines are. If the window moves
//! by more than one position, the buffer has one plane for each remainder of a position, and neighbouring outputs read
//! neighbouring positions.

use super::conv_shape::Conv;
use super::plane_sums::{LANES, add_all, dot};
use super::{depthwise_small, vectorised};
use crate::cpu::element::Element;
use crate::cpu::threads::{Shared, spread};
use crate::op::Window;

pub(super) fn forward<E: Element>(
    conv: &Conv,
    x: &[E],
    filter: &[E],
    out: &mut [E],
    scratch: &mut [E],
    threads: usize,
) {
    if depthwise_small::is_better(conv) {
        return depthwise_small::forward(conv, x, filter, out, scratch, threads);
    }
    let planes = Planes::new(conv);
    let shared = Shared {
        reads: (x, conv.image(conv.input)),
        writes: (out, conv.image(conv.output)),
        scratch: (scratch, planes.scratch()),
        units: 0..conv.images,
    };
    spread(shared, threads, &|_, x, out, scratch| {
        vectorised(
            #[inline(always)]
            || planes.forward(x, filter, out, scratch),
        )
    });
}

pub(super) fn input_gradient<E: Element>(
    conv: &Conv,
    gradient: &[E],
    filter: &[E],
    out: &mut [E],
    scratch: &mut [E],
    threads: usize,
) {
    if depthwise_small::is_better(conv) {
        return depthwise_small::input_gradient(conv, gradient, filter, out, scratch, threads);
    }
    let planes = Planes::new(conv);
    let shared = Shared {
        reads: (gradient, conv.image(conv.output)),
        writes: (out, conv.image(conv.input)),
        scratch: (scratch, planes.scratch()),
        units: 0..conv.images,
    };
    spread(shared, threads, &|_, gradient, out, scratch| {
        vectorised(
            #[inline(always)]
            || planes.input_gradient(gradient, filter, out, scratch),
        );
    });
}

pub(super) fn filter_gradient<E: Element>(
    conv: &Conv,
    gradient: &[E],
    x: &[E],
    out: &mut [E],
    scratch: &mut [E],
    threads: usize,
) {
    if depthwise_small::is_better(conv) {
        return depthwise_small::filter_gradient(conv, gradient, x, out, scratch, threads);
    }
    let planes = Planes::new(conv);
    let shared = Shared {
        reads: (&[], 0),
        writes: (out, planes.per_channel * planes.kernel()),
        scratch: (scratch, planes.scratch()),
        units: 0..conv.input[0],
    };
    spread(shared, threads, &|channel, _, out, scratch| {
        vectorised(
            #[inline(always)]
            || planes.filter_gradient(channel, gradient, x, out, scratch),
        );
    });
}

/// Returns the number of workspace elements for each thread.
pub(super) fn scratch(conv: &Conv) -> usize {
    if depthwise_small::is_better(conv) {
        depthwise_small::scratch(conv)
    } else {
        Planes::new(conv).scratch()
    }
}

/// The layout of the buffers.
struct Planes<'a> {
    conv: &'a Conv,
    /// The number of output channels for each input channel.
    per_channel: usize,
    /// The height and width of a buffer's plane. Output lines have this width too.
    size: [usize; 2],
    /// The number of elements between the buffer's planes.
    plane: usize,
    /// The largest distance, within a plane, between an output and a position that it reads.
    reach: usize,
}

impl<'a> Planes<'a> {
    fn new(conv: &'a Conv) -> Self {
        let along =
            |axis: usize| conv.output[axis + 1] + (conv.window.span(axis) - 1) / conv.window.strides[axis];
        let size = [along(0), along(1)];
        let plane = (size[0] * size[1]).next_multiple_of(LANES);
        let reach = (size[0] - conv.output[1]) * size[1] + size[1] - conv.output[2];
        Self { conv, per_channel: conv.output[0] / conv.input[0], size, plane, reach }
    }

    fn kernel(&self) -> usize {
        self.conv.window.kernel.iter().product()
    }

    fn phases(&self) -> usize {
        self.conv.window.strides.iter().product()
    }

    /// Returns the size of the buffer of inputs. Loops may read up to a block behind the last plane.
    fn inputs(&self) -> usize {
        self.phases() * self.plane + LANES
    }

    fn scratch(&self) -> usize {
        self.inputs() + self.reach + self.plane
    }

    /// Returns the phase that a position of the window reads, and the distance within its plane.
    #[inline(always)]
    fn tap(&self, position: usize) -> (usize, usize) {
        let Window { kernel, strides, dilations, .. } = self.conv.window;
        let (row, column) = (position / kernel[1] * dilations[0], position % kernel[1] * dilations[1]);
        let phase = row % strides[0] * strides[1] + column % strides[1];
        (phase, row / strides[0] * self.size[1] + column / strides[1])
    }

    #[inline(always)]
    fn forward<E: Element>(&self, x: &[E], filter: &[E], out: &mut [E], scratch: &mut [E]) {
        let (inputs, sums) = scratch.split_at_mut(self.inputs());
        inputs.fill(E::ZERO);
        let (channels, kernel) = (self.conv.input[0], self.kernel());
        let outputs = self.conv.columns() * self.per_channel;
        let planes = x.chunks_exact(self.conv.input[1] * self.conv.input[2]);
        for (index, (x, out)) in planes.zip(out.chunks_exact_mut(outputs)).enumerate() {
            self.read_plane(x, inputs);
            for (number, out) in out.chunks_exact_mut(self.conv.columns()).enumerate() {
                let filter = &filter[(index % channels * self.per_channel + number) * kernel..][..kernel];
                let sums = &mut sums[..self.block()];
                sums.fill(E::ZERO);
                let taps = (0..kernel).map(|position| {
                    let (phase, distance) = self.tap(position);
                    (phase * self.plane + distance, filter[position])
                });
                add_all(taps, inputs, sums);
                for (out, line) in out.chunks_exact_mut(self.conv.output[2]).zip(sums.chunks(self.size[1])) {
                    out.copy_from_slice(&line[..out.len()]);
                }
            }
        }
    }

    #[inline(always)]
    fn input_gradient<E: Element>(&self, gradient: &[E], filter: &[E], out: &mut [E], scratch: &mut [E]) {
        let (inputs, outputs) = scratch.split_at_mut(self.inputs());
        outputs.fill(E::ZERO);
        out.fill(E::ZERO);
        let (channels, kernel) = (self.conv.input[0], self.kernel());
        let planes = gradient.chunks_exact(self.conv.columns() * self.per_channel);
        let pixels = self.conv.input[1] * self.conv.input[2];
        for (index, (gradient, out)) in planes.zip(out.chunks_exact_mut(pixels)).enumerate() {
            inputs.fill(E::ZERO);
            for (number, gradient) in gradient.chunks_exact(self.conv.columns()).enumerate() {
                let filter = &filter[(index % channels * self.per_channel + number) * kernel..][..kernel];
                self.spread_lines(gradient, &mut outputs[self.reach..]);
                for (phase, inputs) in inputs.chunks_exact_mut(self.plane).take(self.phases()).enumerate() {
                    let taps = (0..kernel).filter_map(|position| {
                        let (of, distance) = self.tap(position);
                        (of == phase).then_some((self.reach - distance, filter[position]))
                    });
                    add_all(taps, outputs, inputs);
                }
            }
            self.each_line(|buffer, input, length, stride| {
                let to = out[input..].iter_mut().step_by(stride);
                to.zip(&inputs[buffer..buffer + length]).for_each(|(to, from)| *to = *from);
            });
        }
    }

    /// Computes the gradient of the filters of the input channels from `first`, as many as `out` has.
    #[inline(always)]
    fn filter_gradient<E: Element>(
        &self,
        first: usize,
        gradient: &[E],
        x: &[E],
        out: &mut [E],
        scratch: &mut [E],
    ) {
        let (inputs, outputs) = scratch.split_at_mut(self.inputs());
        inputs.fill(E::ZERO);
        outputs.fill(E::ZERO);
        out.fill(E::ZERO);
        let (channels, kernel) = (self.conv.input[0], self.kernel());
        let (pixels, columns) = (self.conv.input[1] * self.conv.input[2], self.conv.columns());
        for (index, out) in out.chunks_exact_mut(self.per_channel * kernel).enumerate() {
            for image in 0..self.conv.images {
                let channel = image * channels + first + index;
                let x = &x[channel * pixels..][..pixels];
                self.read_plane(x, inputs);
                for (number, out) in out.chunks_exact_mut(kernel).enumerate() {
                    let plane = channel * self.per_channel + number;
                    self.spread_lines(&gradient[plane * columns..][..columns], outputs);
                    for (position, out) in out.iter_mut().enumerate() {
                        let (phase, distance) = self.tap(position);
                        *out += dot(&outputs[..self.block()], &inputs[phase * self.plane + distance..]);
                    }
                }
            }
        }
    }

    /// Returns the number of elements from the first to the last output, in whole blocks.
    #[inline(always)]
    fn block(&self) -> usize {
        ((self.conv.output[1] - 1) * self.size[1] + self.conv.output[2]).next_multiple_of(LANES)
    }

    /// Copies an input plane to the buffer's planes. The padding keeps its values.
    #[inline(always)]
    fn read_plane<E: Element>(&self, x: &[E], inputs: &mut [E]) {
        self.each_line(|buffer, input, length, stride| {
            let from = x[input..].iter().step_by(stride);
            inputs[buffer..buffer + length].iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        });
    }

    /// Copies an output plane to lines of the buffer's width.
    #[inline(always)]
    fn spread_lines<E: Element>(&self, plane: &[E], lines: &mut [E]) {
        let lines = lines.chunks_mut(self.size[1]);
        for (line, to) in plane.chunks_exact(self.conv.output[2]).zip(lines) {
            to[..line.len()].copy_from_slice(line);
        }
    }

    /// Calls `visit(position in the buffer, position in the input plane, length, distance in the input plane)` for each
    /// line of the buffer, without the padding.
    #[inline(always)]
    fn each_line(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        let [_, height, width] = self.conv.input;
        let window = Window { dilations: [1, 1], ..self.conv.window };
        let [row_stride, stride] = window.strides;
        for phase in 0..self.phases() {
            let (top, left) = (phase / stride, phase % stride);
            let columns = window.valid_outputs(1, left, width, self.size[1]);
            if columns.is_empty() {
                continue;
            }
            for row in window.valid_outputs(0, top, height, self.size[0]) {
                let line = row * row_stride + top - window.pads[0];
                let buffer = phase * self.plane + row * self.size[1] + columns.start;
                let input = line * width + columns.start * stride + left - window.pads[1];
                visit(buffer, input, columns.len(), stride);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernels::depthwise_by_lines;

    /// Calls `visit(weight, input, output)` for every product of the convolution.
    fn each_product(conv: &Conv, mut visit: impl FnMut(usize, usize, usize)) {
        let ([channels, height, width], [outputs, rows, columns]) = (conv.input, conv.output);
        let [kernel_rows, kernel_columns] = conv.window.kernel;
        for output in 0..conv.images * outputs * rows * columns {
            let (plane, row, column) = (output / (rows * columns), output / columns % rows, output % columns);
            let input = plane / outputs * channels + plane % outputs * channels / outputs;
            for i in 0..kernel_rows {
                for j in 0..kernel_columns {
                    let y = conv.window.input_position(0, row, i, height);
                    let x = conv.window.input_position(1, column, j, width);
                    if let (Some(y), Some(x)) = (y, x) {
                        let weight = (plane % outputs * kernel_rows + i) * kernel_columns + j;
                        visit(weight, (input * height + y) * width + x, output);
                    }
                }
            }
        }
    }

    fn values(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|index| ((index * 7919 + seed * 104_729) % 1009) as f32 / 1009.0 - 0.5).collect()
    }

    fn assert_close(found: &[f32], expected: &[f32]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-4 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }

    /// Compares with the definition: short and long lines, strides, dilation, uneven padding, windows of more positions
    /// than a pass, several output channels, few and many images, several threads.
    #[test]
    fn planes_are_sums_over_the_window() {
        let window = |kernel, strides, dilations, pads| Window { kernel, strides, dilations, pads };
        let cases = [
            (window([3, 3], [1, 1], [1, 1], [1, 1]), [2, 2], [2, 2], 1),
            (window([3, 3], [1, 1], [1, 1], [1, 1]), [33, 19], [33, 19], 2),
            (window([3, 3], [2, 2], [1, 1], [1, 1]), [16, 9], [8, 5], 1),
            (window([5, 4], [2, 3], [2, 1], [3, 0]), [20, 21], [9, 6], 3),
            (window([1, 2], [3, 4], [1, 1], [0, 1]), [7, 9], [3, 3], 2),
            (window([7, 7], [1, 1], [1, 1], [3, 3]), [5, 40], [5, 40], 1),
        ];
        let sizes = [3, 37].into_iter().flat_map(|images| cases.map(|case| (images, case)));
        for (images, (window, [height, width], [rows, columns], per_channel)) in sizes {
            let channels = 4;
            let outputs = channels * per_channel;
            let conv = Conv::new(
                window,
                channels,
                &[images, channels, height, width],
                &[images, outputs, rows, columns],
            );
            let x = values(images * channels * height * width, 1);
            let filter = values(outputs * window.kernel[0] * window.kernel[1], 2);
            let gradient = values(images * outputs * rows * columns, 3);
            let mut expected = [vec![0.0; gradient.len()], vec![0.0; x.len()], vec![0.0; filter.len()]];
            each_product(&conv, |weight, input, output| {
                expected[0][output] += filter[weight] * x[input];
                expected[1][input] += filter[weight] * gradient[output];
                expected[2][weight] += gradient[output] * x[input];
            });
            for threads in [1, 2, 5] {
                // Values that an earlier kernel left in the workspace must not matter.
                let mut workspace = vec![f32::NAN; scratch(&conv) * threads];
                let mut found = expected.clone().map(|values| vec![f32::NAN; values.len()]);
                forward(&conv, &x, &filter, &mut found[0], &mut workspace, threads);
                input_gradient(&conv, &gradient, &filter, &mut found[1], &mut workspace, threads);
                filter_gradient(&conv, &gradient, &x, &mut found[2], &mut workspace, threads);
                for (found, expected) in found.iter().zip(&expected) {
                    assert_close(found, expected);
                }
            }
            let mut found = expected.clone().map(|values| vec![f32::NAN; values.len()]);
            depthwise_by_lines::forward(&conv, &x, &filter, &mut found[0], &mut [], 1);
            depthwise_by_lines::input_gradient(&conv, &gradient, &filter, &mut found[1], &mut [], 1);
            depthwise_by_lines::filter_gradient(&conv, &gradient, &x, &mut found[2], &mut [], 1);
            for (found, expected) in found.iter().zip(&expected) {
                assert_close(found, expected);
            }
        }
    }
}
