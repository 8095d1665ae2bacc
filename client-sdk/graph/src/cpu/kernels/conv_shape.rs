//! The sizes of a convolution.

use crate::op::Window;

/// The number of columns at which a product is fast.
const COLUMNS: usize = 256;
/// The maximum number of elements of an im2col matrix that has the columns of several images: 2 MiB in single precision.
const COLUMN_ELEMENTS_MAX: usize = 1 << 19;

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

    /// Returns the number of images that are convolved in one product. The columns of a small image alone are too few
    /// for a fast product, which reads the whole filter each time.
    ///
    /// Does not depend on the number of threads, and leaves work for two. A browser convolves images one by one, which
    /// keeps its download small.
    #[inline]
    pub(super) fn together(&self) -> usize {
        if cfg!(target_family = "wasm") || self.is_depthwise() {
            return 1;
        }
        let wanted = COLUMNS.div_ceil(self.columns());
        let fitting = COLUMN_ELEMENTS_MAX / (self.rows() * self.columns());
        let most = wanted.min(fitting).min(self.images.div_ceil(2)).max(1);
        self.images.div_ceil(self.images.div_ceil(most))
    }

    /// Returns the number of workspace elements for the products of a thread: the im2col matrix and, if it has the
    /// columns of several images, the matrix of their outputs.
    #[inline]
    pub(super) fn products_size(&self) -> usize {
        match self.together() {
            1 => self.windows_size(),
            images => images * self.columns() * (self.rows() + self.output[0] / self.groups),
        }
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
