//! The geometry of a window that slides over the last two dimensions.

/// A sliding window over `[.., height, width]`. Each pair is (height, width).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Window {
    /// The window's size.
    pub kernel: [usize; 2],
    /// The distance between neighbouring windows.
    pub strides: [usize; 2],
    /// The distance between the positions that a window reads.
    pub dilations: [usize; 2],
    /// Padding above and to the left. The padding below and to the right follows from the output's size.
    pub pads: [usize; 2],
}

impl Window {
    /// Returns the extent of the window along an axis, dilation included.
    #[inline]
    pub fn span(&self, axis: usize) -> usize {
        (self.kernel[axis] - 1) * self.dilations[axis] + 1
    }

    /// Returns the number of positions of the window along an axis of size `padded_size`, which includes the padding on
    /// both sides. Returns `None` if the window does not fit.
    #[inline]
    pub fn positions(&self, axis: usize, padded_size: usize) -> Option<usize> {
        Some(padded_size.checked_sub(self.span(axis))? / self.strides[axis] + 1)
    }

    /// Returns the input position that output position `output` reads at `offset` of the window; `None` if it is in the
    /// padding.
    #[inline]
    pub fn input_position(&self, axis: usize, output: usize, offset: usize, size: usize) -> Option<usize> {
        let padded = output * self.strides[axis] + offset * self.dilations[axis];
        padded.checked_sub(self.pads[axis]).filter(|position| *position < size)
    }

    /// Returns the outputs `first..end` along an axis that read inside the input at `offset` of the window.
    #[inline]
    pub fn valid_outputs(
        &self,
        axis: usize,
        offset: usize,
        size: usize,
        outputs: usize,
    ) -> std::ops::Range<usize> {
        let (stride, reach) = (self.strides[axis], offset * self.dilations[axis]);
        let first = self.pads[axis].saturating_sub(reach).div_ceil(stride).min(outputs);
        let end = (size + self.pads[axis]).saturating_sub(reach).div_ceil(stride).min(outputs);
        first..end.max(first)
    }
}
