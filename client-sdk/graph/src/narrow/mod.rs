//! Narrow models: a graph without the last units of its hidden layers.

mod axes;
mod labels;

use std::ops::Range;

use self::axes::{Axes, is_depthwise};
use crate::graph::{Graph, Source, Value, ValueId};
use crate::op::{Op, strides, volume};

impl Graph {
    /// Returns the graph without the last units of its hidden layers. Of each axis that can shrink, this share remains: at least one
    /// unit, and otherwise the nearest whole number. All values keep their ids, and a parameter of the new graph is the leading part of that of the
    /// old one along each axis (Horváth et al. 2021, "FjORD", section 4.1; Diao et al. 2021, "HeteroFL", section 3.1).
    ///
    /// Inputs and these outputs keep their shapes. `updates` are the new values of parameters, which shrink with them. An axis over which the
    /// graph sums up or takes a maximum keeps its size, too, except for matrix products and convolutions. So the removed units are as
    /// if the weights that read them were 0.
    pub fn narrowed(&self, outputs: &[ValueId], updates: &[(usize, ValueId)], share: f64) -> Self {
        let mut axes = Axes::of(self);
        outputs.iter().for_each(|output| axes.fix(*output));
        for (parameter, update) in updates {
            let source = Source::Parameter(*parameter);
            if let Some(index) = self.values.iter().position(|value| value.source == source) {
                axes.join(ValueId(index), *update);
            }
        }
        let mut narrow = self.clone();
        for (index, Value { shape, .. }) in narrow.values.iter_mut().enumerate() {
            for (size, axis) in shape.iter_mut().zip(axes.axes(ValueId(index))) {
                *size = axes.labels.narrowed(*axis, *size, share);
            }
        }
        for (value, whole) in narrow.values.iter().zip(&self.values) {
            if let Source::Constant(index) = value.source {
                narrow.constants[index] = leading(&whole.shape, &self.constants[index], &value.shape);
            }
        }
        for node in &mut narrow.nodes {
            if let Op::Conv { groups, .. } = &mut node.op
                && is_depthwise(*groups, self.shape(node.inputs[0]), self.shape(node.inputs[1]))
            {
                *groups = narrow.values[node.inputs[0].0].shape[1];
            }
        }
        narrow
    }

    /// Returns the dimensions of a parameter, if the graph has it.
    pub fn parameter_shape(&self, parameter: usize) -> Option<&[usize]> {
        let value = self.values.iter().find(|value| value.source == Source::Parameter(parameter))?;
        Some(&value.shape)
    }
}

/// Returns the elements of the leading part of a tensor: `part` elements of each axis of `shape`, row-major.
pub fn leading<T: Copy>(shape: &[usize], elements: &[T], part: &[usize]) -> Vec<T> {
    let mut found = Vec::with_capacity(volume(part));
    leading_ranges(shape, part, |range| found.extend_from_slice(&elements[range]));
    found
}

/// Calls `visit` with the places of the leading part of a tensor, in order: `part` elements of each axis of `shape`, row-major.
pub fn leading_ranges(shape: &[usize], part: &[usize], mut visit: impl FnMut(Range<usize>)) {
    let Some((length, outer)) = part.split_last() else {
        return visit(0..1);
    };
    let strides = strides(shape);
    for row in 0..volume(outer) {
        let mut rest = row;
        let mut start = 0;
        for axis in (0..outer.len()).rev() {
            start += rest % outer[axis] * strides[axis];
            rest /= outer[axis];
        }
        visit(start..start + length);
    }
}

#[cfg(test)]
mod tests;
