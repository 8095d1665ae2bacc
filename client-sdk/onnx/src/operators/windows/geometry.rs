//! The geometry shared by convolution and pooling: windows, padding, one to three spatial dimensions.

use std::ops::Range;

use super::NodeLowering;
use crate::ImportError;
use crate::attributes::Attributes;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::Window;

/// The maximum size, stride, dilation or padding of a window. Products of values up to this maximum cannot overflow.
const EXTENT_MAX: i64 = 1 << 15;

/// The rule by which padding is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    /// The padding before and after each spatial dimension.
    Explicit([[usize; 2]; 2]),
    /// Pads so that the output has size `input / stride`, rounded up. An odd element of padding goes before or after.
    Same { odd_before: bool },
}

/// The attributes of a window. A missing spatial dimension gets size 1, in front.
pub(super) struct Geometry {
    pub(super) kernel: [usize; 2],
    pub(super) strides: [usize; 2],
    pub(super) dilations: [usize; 2],
    pub(super) padding: Padding,
}

/// The attributes of a window, with one number for each spatial dimension.
struct Extents {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    pads: Vec<usize>,
    /// Whether padding follows from the input's size, and where an odd element of it goes.
    odd_before: Option<bool>,
}

impl Geometry {
    /// Reads the attributes for one or two dimensions. `kernel` is the size of the filter, if there is one.
    pub(super) fn new(
        node: &NodeLowering<'_>,
        attributes: &Attributes<'_>,
        dimensions: usize,
        kernel: Option<&[usize]>,
    ) -> Result<Self, ImportError> {
        Ok(Extents::new(node, attributes, dimensions, kernel)?.part(0..dimensions, pair))
    }

    /// Reads the attributes for three dimensions. Returns the geometry of the depth, which is the first axis of a
    /// window of width 1, and that of each plane.
    pub(super) fn of_volume(
        node: &NodeLowering<'_>,
        attributes: &Attributes<'_>,
        kernel: Option<&[usize]>,
    ) -> Result<[Self; 2], ImportError> {
        let extents = Extents::new(node, attributes, 3, kernel)?;
        Ok([extents.part(0..1, |depth, missing| [depth[0], missing]), extents.part(1..3, pair)])
    }

    /// Returns the window over an input of this size, and the padding after the input.
    pub(super) fn window(&self, size: [usize; 2]) -> (Window, [usize; 2]) {
        let window =
            |pads| Window { kernel: self.kernel, strides: self.strides, dilations: self.dilations, pads };
        let odd_before = match self.padding {
            Padding::Explicit([before, after]) => return (window(before), after),
            Padding::Same { odd_before } => odd_before,
        };
        let total = |axis: usize| {
            let stride = self.strides[axis];
            let reach = (size[axis].div_ceil(stride) - 1) * stride + window([0; 2]).span(axis);
            reach.saturating_sub(size[axis])
        };
        let halves = [total(0), total(1)].map(|total| split(total, odd_before));
        (window(halves.map(|half| half[0])), halves.map(|half| half[1]))
    }
}

impl Extents {
    fn new(
        node: &NodeLowering<'_>,
        attributes: &Attributes<'_>,
        dimensions: usize,
        kernel: Option<&[usize]>,
    ) -> Result<Self, ImportError> {
        let extents = |name: &str, smallest: i64, count: usize| {
            let Some(extents) = attributes.integers(name)? else { return Ok(None) };
            let convert =
                |extent: &i64| match usize::try_from(*extent) {
                    Ok(size) if (smallest..=EXTENT_MAX).contains(extent) => Ok(size),
                    _ => Err(node
                        .refuse(&format!("has {extent} in {name}; it must be {smallest} to {EXTENT_MAX}"))),
                };
            if extents.len() != count {
                return Err(
                    node.refuse(&format!("has {} numbers in {name}; it needs {count}", extents.len()))
                );
            }
            extents.iter().map(convert).collect::<Result<Vec<usize>, _>>().map(Some)
        };
        let shape = extents("kernel_shape", 1, dimensions)?;
        let kernel = match (shape, kernel) {
            (Some(shape), Some(kernel)) if shape != kernel => {
                return Err(node.refuse("has a kernel_shape that differs from the filter's size"));
            }
            (_, Some(kernel)) if kernel.iter().any(|size| *size > EXTENT_MAX as usize) => {
                let reason =
                    format!("has a filter of size {kernel:?}; the limit is {EXTENT_MAX} per dimension");
                return Err(node.refuse(&reason));
            }
            (_, Some(kernel)) => kernel.to_vec(),
            (Some(shape), None) => shape,
            (None, None) => return Err(node.refuse("lacks kernel_shape")),
        };
        let ones = || vec![1; dimensions];
        let zeros = || vec![0; 2 * dimensions];
        let pads = extents("pads", 0, 2 * dimensions)?.unwrap_or_else(zeros);
        let (pads, odd_before) = match attributes.text("auto_pad")?.unwrap_or("NOTSET") {
            "NOTSET" | "" => (pads, None),
            "VALID" => (zeros(), None),
            "SAME_UPPER" => (pads, Some(false)),
            "SAME_LOWER" => (pads, Some(true)),
            other => {
                return Err(node.refuse(&format!(
                    "has the unknown auto_pad {other}; NOTSET, VALID, SAME_UPPER and SAME_LOWER are supported"
                )));
            }
        };
        Ok(Self {
            kernel,
            strides: extents("strides", 1, dimensions)?.unwrap_or_else(ones),
            dilations: extents("dilations", 1, dimensions)?.unwrap_or_else(ones),
            pads,
            odd_before,
        })
    }

    /// Returns the two-dimensional geometry of these dimensions. `two` makes a pair of their numbers; its second
    /// argument is the number for a missing dimension.
    fn part(&self, dimensions: Range<usize>, two: fn(&[usize], usize) -> [usize; 2]) -> Geometry {
        let (before, after) = self.pads.split_at(self.kernel.len());
        let padding = match self.odd_before {
            Some(odd_before) => Padding::Same { odd_before },
            None => Padding::Explicit([before, after].map(|pads| two(&pads[dimensions.clone()], 0))),
        };
        Geometry {
            kernel: two(&self.kernel[dimensions.clone()], 1),
            strides: two(&self.strides[dimensions.clone()], 1),
            dilations: two(&self.dilations[dimensions], 1),
            padding,
        }
    }
}

/// Splits a total padding into the parts before and after.
pub(super) fn split(total: usize, odd_before: bool) -> [usize; 2] {
    let small = total / 2;
    if odd_before { [total - small, small] } else { [small, total - small] }
}

/// Adds a first extent of `missing` if there is only one spatial dimension. Returns two extents unchanged.
pub(super) fn pair(extents: &[usize], missing: usize) -> [usize; 2] {
    match extents {
        [height, width] => [*height, *width],
        [width] => [missing, *width],
        _ => [missing; 2],
    }
}

/// Returns the number of spatial dimensions of a tensor `[N, C, …]`, from 1 to 3.
pub(super) fn spatial_dimensions(node: &NodeLowering<'_>, value: ValueId) -> Result<usize, ImportError> {
    match node.graph.shape(value).len() {
        rank @ 3..=5 => Ok(rank - 2),
        rank => {
            let spatial = rank.saturating_sub(2);
            Err(node.refuse(&format!("has {spatial} spatial dimensions; 1, 2 and 3 are supported")))
        }
    }
}

/// Reshapes a tensor with one spatial dimension to two. Returns a tensor with two spatial dimensions unchanged.
pub(super) fn with_two(node: &mut NodeLowering<'_>, value: ValueId) -> Result<ValueId, ImportError> {
    match node.shape(value)[..] {
        [n, c, width] => node.reshape(value, &[n, c, 1, width]),
        _ => Ok(value),
    }
}

/// Undoes [`with_two`].
pub(super) fn with_as_many(
    node: &mut NodeLowering<'_>,
    value: ValueId,
    dimensions: usize,
) -> Result<ValueId, ImportError> {
    match (dimensions, &node.shape(value)[..]) {
        (1, [n, c, 1, width]) => node.reshape(value, &[*n, *c, *width]),
        _ => Ok(value),
    }
}
