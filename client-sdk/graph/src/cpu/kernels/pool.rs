//! Pooling over windows of the last two axes, and its gradients.

use super::pool_pairs;
use crate::cpu::element::Element;
use crate::op::Window;

/// The maximum width of an input or output row whose maxima are found one column at a time. Wider rows, such as long
/// audio signals, do not fit the buffers on the stack; their windows are visited one by one.
const ROW_MAX: usize = 4096;

/// Pooling over planes of known size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pool {
    window: Window,
    input: [usize; 2],
    output: [usize; 2],
    counted_padding: Option<[usize; 2]>,
}

impl Pool {
    /// Prepares the kernel. `input` and `output` are the shapes `[.., height, width]` of the pooled tensor and of the
    /// result.
    pub(crate) fn new(
        window: Window,
        input: &[usize],
        output: &[usize],
        counted_padding: Option<[usize; 2]>,
    ) -> Self {
        let plane = |shape: &[usize]| [shape[shape.len() - 2], shape[shape.len() - 1]];
        Self { window, input: plane(input), output: plane(output), counted_padding }
    }

    #[inline(always)]
    pub(crate) fn maximum<E: Element>(&self, x: &[E], out: &mut [E]) {
        if self.is_in_pairs() {
            return pool_pairs::maximum(x, self.input, out);
        }
        if self.is_wide() {
            return self.each_window(x.len(), |index, plane, window| {
                out[index] = self.largest(x, plane, window).0;
            });
        }
        let mut rows = out.chunks_exact_mut(self.output[1]);
        self.each_largest(x, |_, values, _| {
            let row = rows.next().expect("as many rows as windows");
            row.copy_from_slice(&values[..row.len()]);
        });
    }

    /// Passes the output's gradient to the first maximum of each window.
    #[inline(always)]
    pub(crate) fn maximum_gradient<E: Element>(&self, x: &[E], gradient: &[E], out: &mut [E]) {
        if self.is_in_pairs() {
            return pool_pairs::maximum_gradient(x, gradient, self.input, out);
        }
        out.fill(E::ZERO);
        if self.is_wide() {
            return self.each_window(x.len(), |index, plane, window| {
                out[plane + self.largest(x, plane, window).1] += gradient[index];
            });
        }
        let mut rows = gradient.chunks_exact(self.output[1]);
        self.each_largest(x, |plane, _, positions| {
            let row = rows.next().expect("as many rows as windows");
            for (gradient, position) in row.iter().zip(positions) {
                out[plane + *position as usize] += *gradient;
            }
        });
    }

    /// Returns whether the windows are non-overlapping 2 x 2 squares, which [`pool_pairs`] handles.
    #[inline]
    fn is_in_pairs(&self) -> bool {
        let squares = Window { kernel: [2, 2], strides: [2, 2], dilations: [1, 1], pads: [0, 0] };
        self.window == squares && self.output == self.input.map(|size| size / 2)
    }

    /// Returns whether a row is too wide for the buffers of [`Self::each_largest`].
    #[inline]
    fn is_wide(&self) -> bool {
        self.input[1].max(self.output[1]) > ROW_MAX
    }

    /// Returns the maximum of one window and its position in the plane. On ties it takes the first.
    fn largest<E: Element>(&self, x: &[E], plane: usize, window: [usize; 2]) -> (E, usize) {
        let (mut value, mut found) = (E::LOWEST, None);
        self.each_position(window, |position| {
            let candidate = x[plane + position];
            if candidate > value || (candidate == value && found.is_none()) {
                (value, found) = (candidate, Some(position));
            }
        });
        // A window of NaNs has no maximum; use position 0, which is inside the plane.
        (value, found.unwrap_or(0))
    }

    pub(crate) fn average<E: Element>(&self, x: &[E], out: &mut [E]) {
        self.each_window(x.len(), |index, plane, window| {
            let mut sum = E::ZERO;
            self.each_position(window, |position| sum += x[plane + position]);
            out[index] = sum / self.count(window);
        });
    }

    pub(crate) fn average_gradient<E: Element>(&self, gradient: &[E], out: &mut [E]) {
        out.fill(E::ZERO);
        let length = out.len();
        self.each_window(length, |index, plane, window| {
            let share = gradient[index] / self.count(window);
            self.each_position(window, |position| out[plane + position] += share);
        });
    }

    /// Calls `visit(output index, start of the input plane, window position)` for each window.
    fn each_window(&self, length: usize, mut visit: impl FnMut(usize, usize, [usize; 2])) {
        let size = self.input[0] * self.input[1];
        let mut index = 0;
        for plane in (0..length).step_by(size) {
            for row in 0..self.output[0] {
                for column in 0..self.output[1] {
                    visit(index, plane, [row, column]);
                    index += 1;
                }
            }
        }
    }

    fn each_position(&self, [row, column]: [usize; 2], mut visit: impl FnMut(usize)) {
        for i in 0..self.window.kernel[0] {
            let Some(y) = self.window.input_position(0, row, i, self.input[0]) else { continue };
            for j in 0..self.window.kernel[1] {
                if let Some(x) = self.window.input_position(1, column, j, self.input[1]) {
                    visit(y * self.input[1] + x);
                }
            }
        }
    }

    /// Calls `visit(start of the plane, maxima, their positions)` for every row of windows, in order.
    #[inline(always)]
    fn each_largest<E: Element>(&self, x: &[E], mut visit: impl FnMut(usize, &[E], &[u32])) {
        let [height, width] = self.input;
        // Finds the maximum of each column first, which vectorises, and then of each window.
        let (mut tall, mut tall_rows) = ([E::LOWEST; ROW_MAX], [0u32; ROW_MAX]);
        let (mut values, mut positions) = ([E::LOWEST; ROW_MAX], [0u32; ROW_MAX]);
        for plane in x.chunks_exact(height * width).enumerate() {
            for row in 0..self.output[0] {
                let mut lines =
                    (0..self.window.kernel[0]).filter_map(|i| self.window.input_position(0, row, i, height));
                let first = lines.next().unwrap_or(0);
                tall[..width].copy_from_slice(&plane.1[first * width..][..width]);
                tall_rows[..width].fill((first * width) as u32);
                for y in lines {
                    let line = &plane.1[y * width..][..width];
                    for ((value, at), candidate) in tall.iter_mut().zip(&mut tall_rows).zip(line) {
                        let is_larger = *candidate > *value;
                        *value = if is_larger { *candidate } else { *value };
                        *at = if is_larger { (y * width) as u32 } else { *at };
                    }
                }
                self.widest(&tall[..width], &tall_rows[..width], &mut values, &mut positions);
                visit(plane.0 * height * width, &values[..self.output[1]], &positions[..self.output[1]]);
            }
        }
    }

    /// Finds the maximum of each window among its columns' maxima. On ties it takes the first in the plane.
    #[inline(always)]
    fn widest<E: Element>(&self, tall: &[E], tall_rows: &[u32], values: &mut [E], positions: &mut [u32]) {
        let stride = self.window.strides[1];
        values[..self.output[1]].fill(E::LOWEST);
        positions[..self.output[1]].fill(u32::MAX);
        for j in 0..self.window.kernel[1] {
            let columns = self.window.valid_outputs(1, j, tall.len(), self.output[1]);
            if columns.is_empty() {
                continue;
            }
            let start = columns.start * stride + j * self.window.dilations[1] - self.window.pads[1];
            let candidates = tall[start..].iter().zip(&tall_rows[start..]).step_by(stride);
            let best = values[columns.clone()].iter_mut().zip(&mut positions[columns]);
            for (index, ((value, position), (candidate, row))) in best.zip(candidates).enumerate() {
                let at = row + (start + index * stride) as u32;
                let is_better = *candidate > *value || (*candidate == *value && at < *position);
                *value = if is_better { *candidate } else { *value };
                *position = if is_better { at } else { *position };
            }
        }
        // A window of NaNs has no maximum; use position 0, which is inside the plane.
        positions[..self.output[1]].iter_mut().filter(|at| **at == u32::MAX).for_each(|at| *at = 0);
    }

    /// Returns the divisor for a window's sum.
    fn count<E: Element>(&self, window: [usize; 2]) -> E {
        let along = |axis: usize| match self.counted_padding {
            // A window that reaches beyond the end of the padding counts only the elements up to that end.
            Some(end) => {
                let start = window[axis] * self.window.strides[axis];
                let limit = self.input[axis] + self.window.pads[axis] + end[axis];
                let inside = |offset: &usize| start + offset * self.window.dilations[axis] < limit;
                (0..self.window.kernel[axis]).filter(inside).count()
            }
            None => {
                let inside = |offset: &usize| {
                    self.window.input_position(axis, window[axis], *offset, self.input[axis]).is_some()
                };
                (0..self.window.kernel[axis]).filter(inside).count()
            }
        };
        E::from_f64((along(0) * along(1)).max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the fast path for squares with the general one, with ties, odd sizes and zeros.
    #[test]
    fn squares_are_pooled_like_all_windows() {
        let window = Window { kernel: [2, 2], strides: [2, 2], dilations: [1, 1], pads: [0, 0] };
        for [height, width] in [[2, 2], [14, 14], [28, 28], [5, 7], [4, 3]] {
            let (input, output) = ([3, height, width], [3, height / 2, width / 2]);
            let pool = Pool::new(window, &input, &output, None);
            assert!(pool.is_in_pairs());
            let x: Vec<f32> =
                (0..3 * height * width).map(|i| (i * 7919 % 11) as f32 - 5.0).map(|x| x.max(0.0)).collect();
            let gradient: Vec<f32> = (0..output.iter().product()).map(|i| i as f32 * 0.37 - 3.0).collect();
            let (mut fast, mut general) = (vec![0.0; gradient.len()], vec![0.0; gradient.len()]);
            pool.maximum(&x, &mut fast);
            let mut rows = general.chunks_exact_mut(width / 2);
            pool.each_largest(&x, |_, values, _| rows.next().unwrap().copy_from_slice(values));
            assert_eq!(fast, general);
            let (mut fast, mut general) = (vec![9.0; x.len()], vec![0.0; x.len()]);
            pool.maximum_gradient(&x, &gradient, &mut fast);
            let mut rows = gradient.chunks_exact(width / 2);
            pool.each_largest(&x, |plane, _, positions| {
                for (gradient, position) in rows.next().unwrap().iter().zip(positions) {
                    general[plane + *position as usize] += *gradient;
                }
            });
            assert_eq!(fast, general);
        }
    }

    /// Compares the path for wide rows with the general one, with ties, overlaps, padding and dilation.
    #[test]
    fn wide_rows_are_pooled_like_narrow_ones() {
        let windows = [
            Window { kernel: [1, 3], strides: [1, 2], dilations: [1, 1], pads: [0, 1] },
            Window { kernel: [2, 3], strides: [1, 1], dilations: [1, 2], pads: [1, 2] },
        ];
        for window in windows {
            // Zeros at the end of the wide input are smaller than everything else.
            let (narrow, wide) = (40, ROW_MAX + 100);
            let pool = |width: usize| {
                let outputs = |axis: usize, size: usize| {
                    (size + 2 * window.pads[axis] - window.span(axis)) / window.strides[axis] + 1
                };
                let (input, output) = ([2, 3, width], [2, outputs(0, 3), outputs(1, width)]);
                (Pool::new(window, &input, &output, None), output)
            };
            let value = |index: usize| (index * 7919 % 11) as f32 + 1.0;
            let x: Vec<f32> = (0..2 * 3 * narrow).map(value).collect();
            let widened: Vec<f32> = x
                .chunks_exact(narrow)
                .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, wide - narrow)))
                .collect();
            let ((small, shape), (large, large_shape)) = (pool(narrow), pool(wide));
            assert!(!small.is_wide() && large.is_wide());
            let volume = |shape: [usize; 3]| shape.iter().product::<usize>();
            let (mut few, mut many) = (vec![0.0; volume(shape)], vec![0.0; volume(large_shape)]);
            small.maximum(&x, &mut few);
            large.maximum(&widened, &mut many);
            let inner = shape[2] - 3;
            for (few, many) in few.chunks_exact(shape[2]).zip(many.chunks_exact(large_shape[2])) {
                assert_eq!(few[..inner], many[..inner]);
            }
            let gradient = |shape: [usize; 3]| -> Vec<f32> {
                (0..volume(shape)).map(|index| if index % shape[2] < inner { 1.5 } else { 0.0 }).collect()
            };
            let (mut few, mut many) = (vec![9.0; x.len()], vec![9.0; widened.len()]);
            small.maximum_gradient(&x, &gradient(shape), &mut few);
            large.maximum_gradient(&widened, &gradient(large_shape), &mut many);
            for (few, many) in few.chunks_exact(narrow).zip(many.chunks_exact(wide)) {
                assert_eq!(*few, many[..narrow]);
            }
        }
    }
}
