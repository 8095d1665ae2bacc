//! The sizes of a convolution.

use crate::op::Window;

/// A convolution of `[N, C, H, W]` by `[M, C / groups, kH, kW]` with known sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conv {
    pub(super) window: Window,
    pub(super) groups: usize,
    pub(super) images: usize,
    /// Channels, height and width of an input image.
    pub(super) input: [usize; 3],
    /// Channels, height and width of an output image.
    pub(super) output: [usize; 3],
}

impl Conv {
    pub(crate) fn new(window: Window, groups: usize, input: &[usize], output: &[usize]) -> Self {
        let image = |shape: &[usize]| [shape[1], shape[2], shape[3]];
        Self { window, groups, images: input[0], input: image(input), output: image(output) }
    }

    /// Returns the number of elements of the im2col matrix, or 0 if the image itself is that matrix.
    #[inline]
    pub(super) fn windows_size(&self) -> usize {
        if self.is_pointwise() { 0 } else { self.rows() * self.columns() }
    }

    #[inline]
    pub(super) fn filter_size(&self) -> usize {
        self.output[0] * self.rows()
    }

    /// Returns the number of floating-point operations in one run, forward or backward.
    pub(crate) fn flops(&self) -> u64 {
        2 * (self.images * self.output[0] * self.rows() * self.columns()) as u64
    }

    /// Returns whether each group has one input channel, with any number of output channels.
    #[inline]
    pub(super) fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.groups == self.input[0]
    }

    #[inline]
    pub(super) fn is_pointwise(&self) -> bool {
        let Window { kernel, strides, pads, .. } = self.window;
        kernel == [1, 1] && strides == [1, 1] && pads == [0, 0] && self.input[1..] == self.output[1..]
    }

    /// Returns the output channels of a group, and the rows and columns of the im2col matrix.
    #[inline]
    pub(super) fn matrix(&self) -> [usize; 3] {
        [self.output[0] / self.groups, self.rows(), self.columns()]
    }

    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.input[0] / self.groups * self.window.kernel[0] * self.window.kernel[1]
    }

    #[inline]
    pub(super) fn columns(&self) -> usize {
        self.output[1] * self.output[2]
    }

    #[inline]
    pub(super) fn image(&self, image: [usize; 3]) -> usize {
        image.iter().product()
    }

    #[inline]
    pub(super) fn group(&self, image: [usize; 3]) -> usize {
        self.image(image) / self.groups
    }
}
