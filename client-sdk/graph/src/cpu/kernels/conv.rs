//! Convolutions by im2col: image windows become the columns of a matrix, followed by a matrix product (Chellapilla et
//! al. 2006). Depthwise convolutions are sums of shifted planes instead.

use super::conv_shape::Conv;
use super::conv_together;
#[cfg(not(target_family = "wasm"))]
use super::depthwise;
#[cfg(target_family = "wasm")]
use super::depthwise_by_lines as depthwise;
use crate::cpu::element::Element;
use crate::cpu::gemm::{Matrix, gemm};
use crate::cpu::threads::{Shared, spread};
use crate::op::Window;

impl Conv {
    /// Returns the number of workspace elements for the forward pass or the input gradient.
    pub(crate) fn scratch(&self, threads: usize) -> usize {
        threads * if self.is_depthwise() { depthwise::scratch(self) } else { self.products_size() }
    }

    /// Returns the number of workspace elements for the filter gradient: each thread has its own sum.
    pub(crate) fn filter_scratch(&self, threads: usize) -> usize {
        self.scratch(threads) + if self.is_depthwise() { 0 } else { self.filter_size() * threads }
    }

    pub(crate) fn forward<E: Element>(
        &self,
        x: &[E],
        filter: &[E],
        out: &mut [E],
        scratch: &mut [E],
        threads: usize,
    ) {
        if self.is_depthwise() {
            return depthwise::forward(self, x, filter, out, scratch, threads);
        }
        if self.together() > 1 {
            return conv_together::forward(self, x, filter, out, scratch, threads);
        }
        let shared = Shared {
            reads: (x, self.image(self.input)),
            writes: (out, self.image(self.output)),
            scratch: (scratch, self.windows_size()),
            units: 0..self.images,
        };
        spread(shared, threads, &|_, x, out, scratch| self.forward_images(x, filter, out, scratch));
    }

    fn forward_images<E: Element>(&self, x: &[E], filter: &[E], out: &mut [E], scratch: &mut [E]) {
        let [m, k, p] = self.matrix();
        for (x, out) in
            x.chunks_exact(self.image(self.input)).zip(out.chunks_exact_mut(self.image(self.output)))
        {
            for group in 0..self.groups {
                let x = &x[group * self.group(self.input)..][..self.group(self.input)];
                let windows = self.windows(x, scratch);
                let filter = Matrix::row_major(&filter[group * m * k..], k, false);
                let windows = Matrix::row_major(windows, p, false);
                gemm([m, k, p], filter, windows, &mut out[group * m * p..], false, 1);
            }
        }
    }

    pub(crate) fn input_gradient<E: Element>(
        &self,
        gradient: &[E],
        filter: &[E],
        out: &mut [E],
        scratch: &mut [E],
        threads: usize,
    ) {
        if self.is_depthwise() {
            return depthwise::input_gradient(self, gradient, filter, out, scratch, threads);
        }
        if self.together() > 1 {
            return conv_together::input_gradient(self, gradient, filter, out, scratch, threads);
        }
        let shared = Shared {
            reads: (gradient, self.image(self.output)),
            writes: (out, self.image(self.input)),
            scratch: (scratch, self.windows_size()),
            units: 0..self.images,
        };
        spread(shared, threads, &|_, gradient, out, scratch| {
            self.input_gradient_images(gradient, filter, out, scratch);
        });
    }

    fn input_gradient_images<E: Element>(
        &self,
        gradient: &[E],
        filter: &[E],
        out: &mut [E],
        scratch: &mut [E],
    ) {
        let [m, k, p] = self.matrix();
        let images = gradient.chunks_exact(self.image(self.output));
        for (gradient, out) in images.zip(out.chunks_exact_mut(self.image(self.input))) {
            for group in 0..self.groups {
                let gradient = Matrix::row_major(&gradient[group * m * p..], p, false);
                let filter = Matrix::row_major(&filter[group * m * k..], k, true);
                let out = &mut out[group * self.group(self.input)..][..self.group(self.input)];
                if self.is_pointwise() {
                    gemm([k, m, p], filter, gradient, out, false, 1);
                } else {
                    let windows = &mut scratch[..k * p];
                    gemm([k, m, p], filter, gradient, windows, false, 1);
                    self.add_windows(windows, p, out);
                }
            }
        }
    }

    pub(crate) fn filter_gradient<E: Element>(
        &self,
        gradient: &[E],
        x: &[E],
        out: &mut [E],
        scratch: &mut [E],
        threads: usize,
    ) {
        if self.is_depthwise() {
            return depthwise::filter_gradient(self, gradient, x, out, scratch, threads);
        }
        let threads = threads.min(self.images);
        let (windows, sums) = scratch.split_at_mut(self.products_size() * threads);
        let sums = &mut sums[..self.filter_size() * threads];
        // A unit is one thread's share of the images. The thread writes the sum of the filter gradients over its share.
        let share = |thread: usize| self.images * thread / threads;
        let shared = Shared {
            reads: (&[], 0),
            writes: (&mut *sums, self.filter_size()),
            scratch: (windows, self.products_size()),
            units: 0..threads,
        };
        spread(shared, threads, &|thread, _, sum, windows| {
            let images = share(thread)..share(thread + 1);
            let gradient =
                &gradient[images.start * self.image(self.output)..images.end * self.image(self.output)];
            let x = &x[images.start * self.image(self.input)..images.end * self.image(self.input)];
            self.filter_gradient_images(gradient, x, sum, windows);
        });
        let (first, others) = sums.split_at(self.filter_size());
        out.copy_from_slice(first);
        for sum in others.chunks_exact(self.filter_size()) {
            out.iter_mut().zip(sum).for_each(|(out, part)| *out += *part);
        }
    }

    fn filter_gradient_images<E: Element>(&self, gradient: &[E], x: &[E], out: &mut [E], scratch: &mut [E]) {
        if self.together() > 1 {
            return conv_together::filter_gradient(self, gradient, x, out, scratch);
        }
        let [m, k, p] = self.matrix();
        let images = gradient.chunks_exact(self.image(self.output));
        for (index, (gradient, x)) in images.zip(x.chunks_exact(self.image(self.input))).enumerate() {
            for group in 0..self.groups {
                let x = &x[group * self.group(self.input)..][..self.group(self.input)];
                let windows = Matrix::row_major(self.windows(x, scratch), p, true);
                let gradient = Matrix::row_major(&gradient[group * m * p..], p, false);
                gemm([m, p, k], gradient, windows, &mut out[group * m * k..][..m * k], index > 0, 1);
            }
        }
    }

    /// Returns the im2col matrix `[channels · kH · kW, oH · oW]`. If the window is one pixel, this is the image itself.
    fn windows<'a, E: Element>(&self, x: &'a [E], scratch: &'a mut [E]) -> &'a [E] {
        if self.is_pointwise() {
            return x;
        }
        self.fill_windows(x, scratch, self.columns());
        &scratch[..self.rows() * self.columns()]
    }

    /// Fills an image's columns of an im2col matrix, whose rows have `width` elements. `matrix` starts at the image's
    /// first column.
    pub(super) fn fill_windows<E: Element>(&self, x: &[E], matrix: &mut [E], width: usize) {
        let mut rows = matrix.chunks_mut(width);
        self.each_row(|channel, offset| {
            let Some(row) = rows.next() else { return };
            let x = &x[channel * self.input[1] * self.input[2]..];
            self.read_row(x, offset, &mut row[..self.columns()]);
        });
    }

    /// Fills one row of the im2col matrix with the pixels that the windows read at `offset`, or 0 outside the image.
    fn read_row<E: Element>(&self, x: &[E], offset: [usize; 2], row: &mut [E]) {
        let shift = self.shift(offset);
        if shift.is_empty() {
            return row.fill(E::ZERO);
        }
        if self.keeps_lines() {
            // Pixels that are neighbours stay neighbours across lines. So copy the block once, then write zeros where a
            // line wraps around.
            let (start, end) = shift.block(self.output[2]);
            let source = shift.source(self.input[2]);
            row[..start].fill(E::ZERO);
            row[start..end].copy_from_slice(&x[source..source + end - start]);
            row[end..].fill(E::ZERO);
            return shift.clear_edges(row, self.output[2]);
        }
        let [row_stride, stride] = self.window.strides;
        for (y, line) in row.chunks_exact_mut(self.output[2]).enumerate() {
            if !shift.rows.contains(&y) {
                line.fill(E::ZERO);
                continue;
            }
            let source = &x[(shift.top + (y - shift.rows.start) * row_stride) * self.input[2] + shift.left..];
            line[..shift.columns.start].fill(E::ZERO);
            line[shift.columns.end..].fill(E::ZERO);
            let inside = line[shift.columns.clone()].iter_mut();
            inside.zip(source.iter().step_by(stride)).for_each(|(to, from)| *to = *from);
        }
    }

    /// Adds an image's columns of an im2col matrix, whose rows have `width` elements, back to the image (col2im). Sets
    /// their elements that lie outside the image to 0. `matrix` starts at the image's first column.
    pub(super) fn add_windows<E: Element>(&self, matrix: &mut [E], width: usize, out: &mut [E]) {
        out.fill(E::ZERO);
        let [row_stride, stride] = self.window.strides;
        let mut rows = matrix.chunks_mut(width);
        self.each_row(|channel, offset| {
            let Some(row) = rows.next() else { return };
            let row = &mut row[..self.columns()];
            let out = &mut out[channel * self.input[1] * self.input[2]..];
            let shift = self.shift(offset);
            if shift.is_empty() {
                return;
            }
            if self.keeps_lines() {
                shift.clear_edges(row, self.output[2]);
                let (start, end) = shift.block(self.output[2]);
                let out = out[shift.source(self.input[2])..].iter_mut();
                return out.zip(&row[start..end]).for_each(|(out, value)| *out += *value);
            }
            for (index, y) in shift.rows.clone().enumerate() {
                let line = &row[y * self.output[2]..][shift.columns.clone()];
                let out = &mut out[(shift.top + index * row_stride) * self.input[2] + shift.left..];
                out.iter_mut().step_by(stride).zip(line).for_each(|(out, value)| *out += *value);
            }
        });
    }

    /// Returns whether output lines are as long as input lines and read without gaps.
    #[inline]
    fn keeps_lines(&self) -> bool {
        self.window.strides == [1, 1] && self.input[2] == self.output[2]
    }

    /// Returns the outputs that read inside the image at `offset` of the window, and the input position of the first
    /// one.
    #[inline]
    fn shift(&self, offset: [usize; 2]) -> Shift {
        let Window { strides, dilations, pads, .. } = self.window;
        let valid = |axis: usize| {
            self.window.valid_outputs(axis, offset[axis], self.input[axis + 1], self.output[axis + 1])
        };
        let (rows, columns) = (valid(0), valid(1));
        let first = |axis: usize, start: usize| {
            (start * strides[axis] + offset[axis] * dilations[axis]).saturating_sub(pads[axis])
        };
        Shift { top: first(0, rows.start), left: first(1, columns.start), rows, columns }
    }

    /// Calls `visit(channel of the group, offset in the window)` for each row of the matrix of windows.
    fn each_row(&self, mut visit: impl FnMut(usize, [usize; 2])) {
        for channel in 0..self.input[0] / self.groups {
            for i in 0..self.window.kernel[0] {
                for j in 0..self.window.kernel[1] {
                    visit(channel, [i, j]);
                }
            }
        }
    }
}

/// The outputs that read inside the image at one offset of the window.
struct Shift {
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
    /// The input row that the first output reads.
    top: usize,
    /// The input column that the first output reads.
    left: usize,
}

impl Shift {
    #[inline]
    fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.columns.is_empty()
    }

    /// Returns the range from the first to the last output, in a plane of this width.
    #[inline]
    fn block(&self, width: usize) -> (usize, usize) {
        (self.rows.start * width + self.columns.start, (self.rows.end - 1) * width + self.columns.end)
    }

    /// Returns the position that the first output reads, in a plane of this width.
    #[inline]
    fn source(&self, width: usize) -> usize {
        self.top * width + self.left
    }

    /// Sets the elements to the left and right of the outputs to 0.
    fn clear_edges<E: Element>(&self, row: &mut [E], width: usize) {
        if self.columns.len() == width {
            return;
        }
        // Fills column by column: the edges are too narrow for line-wise filling to pay off.
        let lines = &mut row[self.rows.start * width..self.rows.end * width];
        for column in (0..self.columns.start).chain(self.columns.end..width) {
            lines[column..].iter_mut().step_by(width).for_each(|element| *element = E::ZERO);
        }
    }
}
