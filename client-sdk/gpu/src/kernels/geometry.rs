//! The sizes of a convolution, also as constants of its shader.

use folkmoot_graph::op::Window;

use super::product::constants;

/// The sizes of a convolution.
pub(super) struct Geometry {
    pub(super) window: Window,
    pub(super) groups: usize,
    pub(super) images: usize,
    /// Channels, height and width of an input image.
    pub(super) input: [usize; 3],
    /// Channels, height and width of an output image.
    pub(super) output: [usize; 3],
}

impl Geometry {
    pub(super) fn new(window: Window, groups: usize, input: &[usize], output: &[usize]) -> Self {
        let image = |shape: &[usize]| [shape[1], shape[2], shape[3]];
        Self { window, groups, images: input[0], input: image(input), output: image(output) }
    }

    /// Returns whether each group has one input channel, with any number of output channels.
    pub(super) fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.groups == self.input[0]
    }

    /// Returns the number of elements of one filter.
    pub(super) fn filter_size(&self) -> usize {
        self.input[0] / self.groups * self.window.kernel[0] * self.window.kernel[1]
    }

    /// Returns the number of window positions on an image.
    pub(super) fn pixels(&self) -> usize {
        self.output[1] * self.output[2]
    }

    pub(super) fn phases(&self) -> [Phases; 2] {
        [0, 1].map(|axis| Phases::new(&self.window, axis))
    }

    /// Returns WGSL constants that define the phases.
    pub(super) fn phase_constants(&self) -> String {
        let [down, across] = self.phases();
        constants(&[
            ("PHASES_DOWN", down.count),
            ("PHASES_ACROSS", across.count),
            ("INVERSE_DOWN", down.inverse),
            ("INVERSE_ACROSS", across.inverse),
            ("DIVISOR_DOWN", self.window.strides[0] / down.count),
            ("DIVISOR_ACROSS", self.window.strides[1] / across.count),
        ])
    }

    /// Returns the floating-point operations of a depthwise convolution, forward or backward.
    pub(super) fn depthwise_flops(&self) -> u64 {
        2 * (self.images * self.output[0] * self.pixels() * self.filter_size()) as u64
    }

    /// Returns whether the input or the output is empty, so that nothing is multiplied.
    pub(super) fn is_empty(&self) -> bool {
        let elements = |image: [usize; 3]| self.images * image.iter().product::<usize>();
        elements(self.input) == 0 || elements(self.output) == 0
    }

    /// Returns WGSL constants for the sizes.
    pub(super) fn constants(&self) -> String {
        let Window { kernel, strides, dilations, pads } = self.window;
        constants(&[
            ("CHANNELS", self.input[0]),
            ("GROUP_CHANNELS", self.input[0] / self.groups),
            ("HEIGHT", self.input[1]),
            ("WIDTH", self.input[2]),
            ("OUT_CHANNELS", self.output[0]),
            ("GROUP_OUT_CHANNELS", self.output[0] / self.groups),
            ("OUT_HEIGHT", self.output[1]),
            ("OUT_WIDTH", self.output[2]),
            ("KERNEL_HEIGHT", kernel[0]),
            ("KERNEL_WIDTH", kernel[1]),
            ("STRIDE_DOWN", strides[0]),
            ("STRIDE_ACROSS", strides[1]),
            ("DILATION_DOWN", dilations[0]),
            ("DILATION_ACROSS", dilations[1]),
            ("PAD_ABOVE", pads[0]),
            ("PAD_LEFT", pads[1]),
            ("PLANE", self.input[1] * self.input[2]),
            ("OUT_PLANE", self.pixels()),
            ("OFFSETS", kernel[0] * kernel[1]),
        ])
    }
}

/// The phases of an axis: sets of pixels that are read at the same offsets of the window.
pub(super) struct Phases {
    pub(super) count: usize,
    /// The inverse of the dilation modulo the number of phases. It gives the first offset of each phase.
    inverse: usize,
}

impl Phases {
    fn new(window: &Window, axis: usize) -> Self {
        let (stride, dilation) = (window.strides[axis], window.dilations[axis]);
        let inverse = (0..stride).find(|number| number * dilation % stride == 1 % stride);
        // Without an inverse there is a single phase, and the shader skips the offsets at which no window reads the
        // pixel.
        inverse.map_or(Self { count: 1, inverse: 0 }, |inverse| Self { count: stride, inverse })
    }
}
