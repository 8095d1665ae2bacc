//! The geometry shared by convolution and pooling: windows, padding, one or two spatial dimensions.

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

impl Geometry {
    /// Reads the attributes. `kernel` is the size of the filter, if there is one.
    pub(super) fn new(
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
        let pads = extents("pads", 0, 2 * dimensions)?.unwrap_or_else(|| vec![0; 2 * dimensions]);
        let padding = match attributes.text("auto_pad")?.unwrap_or("NOTSET") {
            "NOTSET" | "" => {
                let (before, after) = pads.split_at(dimensions);
                Padding::Explicit([pair(before, 0), pair(after, 0)])
            }
            "VALID" => Padding::Explicit([[0; 2]; 2]),
            "SAME_UPPER" => Padding::Same { odd_before: false },
            "SAME_LOWER" => Padding::Same { odd_before: true },
            other => return Err(node.refuse(&format!("has the unknown auto_pad {other}"))),
        };
        Ok(Self {
            kernel: pair(&kernel, 1),
            strides: pair(&extents("strides", 1, dimensions)?.unwrap_or_else(ones), 1),
            dilations: pair(&extents("dilations", 1, dimensions)?.unwrap_or_else(ones), 1),
            padding,
        })
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

/// Returns the number of spatial dimensions of a tensor `[N, C, …]`, 1 or 2.
pub(super) fn spatial_dimensions(node: &NodeLowering<'_>, value: ValueId) -> Result<usize, ImportError> {
    match node.graph.shape(value).len() {
        3 => Ok(1),
        4 => Ok(2),
        rank => {
            let spatial = rank.saturating_sub(2);
            Err(node.refuse(&format!("has {spatial} spatial dimensions; 1 and 2 are supported")))
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
