//! Narrow models: a graph without the last units of its hidden layers.

mod axes;
mod labels;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use self::axes::{Axes, is_depthwise};
use crate::graph::{Graph, Source, Value, ValueId};
use crate::op::{Op, strides, volume};

/// Axes of parameters, each by the parameter and the axis's number.
pub type ParameterAxes = BTreeSet<(usize, usize)>;

impl Graph {
    /// Returns the graph without the last units of its hidden layers. Of each axis that can shrink, this share remains:
    /// at least one unit, and otherwise the nearest whole number. All values keep their ids, and a parameter of the new
    /// graph is the leading part of the same parameter in the old graph, along each axis (Horváth et al. 2021, "FjORD",
    /// section 4.1; Diao et al. 2021, "HeteroFL", section 3.1).
    ///
    /// These keep their sizes: inputs; `outputs`; `fixed` axes; axes over which the graph sums up or takes a maximum,
    /// except where a weight is multiplied; axes of which it reads a part, or that it joins; and axes that only a
    /// constant has. `updates` are the new values of parameters, which shrink with them. The result is the same as if
    /// the weights that read the removed units were 0.
    pub fn narrowed(
        &self,
        outputs: &[ValueId],
        updates: &[(usize, ValueId)],
        fixed: &ParameterAxes,
        share: f64,
    ) -> Self {
        let axes = self.axes(outputs, updates, fixed);
        let mut narrow = self.clone();
        for (index, Value { shape, .. }) in narrow.values.iter_mut().enumerate() {
            *shape = axes.narrowed(ValueId(index), share);
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

    /// Returns the axes of parameters that keep their sizes in [`Graph::narrowed`], whatever the share.
    pub fn fixed_axes(
        &self,
        outputs: &[ValueId],
        updates: &[(usize, ValueId)],
        fixed: &ParameterAxes,
    ) -> ParameterAxes {
        let axes = self.axes(outputs, updates, fixed);
        let mut found = fixed.clone();
        for (index, value) in self.values.iter().enumerate() {
            if let Source::Parameter(parameter) = value.source {
                found.extend(axes.fixed(ValueId(index)).map(|axis| (parameter, axis)));
            }
        }
        found
    }

    /// Returns the shape of each parameter of the graph in [`Graph::narrowed`], for each share.
    pub fn narrow_parameters(
        &self,
        outputs: &[ValueId],
        updates: &[(usize, ValueId)],
        fixed: &ParameterAxes,
        shares: &[f64],
    ) -> Vec<BTreeMap<usize, Vec<usize>>> {
        let axes = self.axes(outputs, updates, fixed);
        let shapes = |share: &f64| {
            let parameters = self.values.iter().enumerate().filter_map(|(index, value)| match value.source {
                Source::Parameter(parameter) => Some((parameter, axes.narrowed(ValueId(index), *share))),
                _ => None,
            });
            parameters.collect()
        };
        shares.iter().map(shapes).collect()
    }

    fn axes(&self, outputs: &[ValueId], updates: &[(usize, ValueId)], fixed: &ParameterAxes) -> Axes<'_> {
        let mut axes = Axes::of(self);
        outputs.iter().for_each(|output| axes.fix(*output));
        for (index, value) in self.values.iter().enumerate() {
            if let Source::Parameter(parameter) = value.source {
                axes.fix_some(ValueId(index), |axis| fixed.contains(&(parameter, axis)));
            }
        }
        for (parameter, update) in updates {
            let source = Source::Parameter(*parameter);
            if let Some(index) = self.values.iter().position(|value| value.source == source) {
                axes.join(ValueId(index), *update);
            }
        }
        axes
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
