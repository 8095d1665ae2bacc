//! The axes that each operator passes on, joins, or cannot do without.

use super::labels::{Axis, Labels};
use crate::graph::{Graph, Node, Source, ValueId};
use crate::op::Op;

/// The axes of every value of a graph.
pub(super) struct Axes<'a> {
    graph: &'a Graph,
    labels: Labels,
    of: Vec<Vec<Axis>>,
    /// For each value, the origins of its elements.
    origins: Vec<Origins>,
}

/// The sources on which a value depends, besides constants.
#[derive(Clone, Copy, Default)]
struct Origins {
    inputs: bool,
    parameters: bool,
}

impl<'a> Axes<'a> {
    /// Finds the axes that can shrink without changing what the remaining elements mean.
    pub fn of(graph: &'a Graph) -> Self {
        let count = graph.values.len();
        let mut axes = Self {
            graph,
            labels: Labels::default(),
            of: vec![Vec::new(); count],
            origins: vec![Origins::default(); count],
        };
        let mut parameters: Vec<(usize, Vec<Axis>)> = Vec::new();
        for (index, value) in graph.values.iter().enumerate() {
            let known = match value.source {
                Source::Parameter(parameter) => parameters.iter().find(|(known, _)| *known == parameter),
                _ => None,
            };
            axes.of[index] = match (value.source, known) {
                (_, Some((_, known))) => known.clone(),
                (Source::Input(_), None) => vec![None; value.shape.len()],
                _ => value.shape.iter().map(|size| axes.labels.fresh(*size)).collect(),
            };
            axes.origins[index] = Origins {
                inputs: matches!(value.source, Source::Input(_)),
                parameters: matches!(value.source, Source::Parameter(_)),
            };
            if let (Source::Parameter(parameter), None) = (value.source, known) {
                parameters.push((parameter, axes.of[index].clone()));
            }
        }
        for node in &graph.nodes {
            axes.visit(node);
        }
        axes
    }

    /// Returns the shape of a value if all that can shrinks to this share.
    pub fn narrowed(&self, value: ValueId, share: f64) -> Vec<usize> {
        let sizes = self.graph.shape(value).iter().zip(&self.of[value.0]);
        sizes.map(|(size, axis)| self.labels.narrowed(*axis, *size, share)).collect()
    }

    /// Returns the axes of a value that keep their sizes, by number.
    pub fn fixed(&self, value: ValueId) -> impl Iterator<Item = usize> {
        let axes = self.of[value.0].iter().enumerate();
        axes.filter(|(_, axis)| self.labels.is_fixed(**axis)).map(|(number, _)| number)
    }

    /// Makes some axes of a value keep their sizes.
    pub fn fix_some(&mut self, value: ValueId, is_fixed: impl Fn(usize) -> bool) {
        for axis in (0..self.of[value.0].len()).filter(|axis| is_fixed(*axis)) {
            self.labels.fix(self.of[value.0][axis]);
        }
    }

    /// Makes a value keep its shape.
    pub fn fix(&mut self, value: ValueId) {
        for axis in self.of[value.0].clone() {
            self.labels.fix(axis);
        }
    }

    /// Makes two values of one shape shrink together.
    pub fn join(&mut self, one: ValueId, other: ValueId) {
        for (one, other) in self.of[one.0].clone().into_iter().zip(self.of[other.0].clone()) {
            self.labels.join(one, other);
        }
    }

    fn visit(&mut self, node: &Node) {
        let (inputs, output) = (&node.inputs, node.output);
        for input in inputs {
            let of_input = self.origins[input.0];
            let origins = &mut self.origins[output.0];
            origins.inputs |= of_input.inputs;
            origins.parameters |= of_input.parameters;
        }
        match &node.op {
            Op::Element(_) | Op::Broadcast => {
                self.fix_what_only_constants_have(inputs, output);
                inputs.iter().for_each(|input| self.join_from_the_right(*input, output, 0));
            }
            Op::Reshape => self.reshape(inputs[0], output),
            Op::Transpose { axes } => {
                for (to, from) in axes.iter().enumerate() {
                    self.pass(inputs[0], *from, output, to);
                }
            }
            // The mean over an axis divides by its size, which is a constant of the graph.
            Op::Reduce { axes, .. } => self.pass_all_but(inputs[0], output, axes),
            Op::ArgMaximum { axis, .. } => self.pass_all_but(inputs[0], output, &[*axis]),
            Op::MatMul { transpose_a, transpose_b } => {
                self.matrix_product([inputs[0], inputs[1], output], [*transpose_a, *transpose_b]);
            }
            Op::Slice { starts, steps } | Op::Unslice { starts, steps } => {
                let changed = self.changed(inputs[0], output, starts, steps);
                self.pass_all_but(inputs[0], output, &changed);
            }
            Op::Concat { axis } => {
                inputs.iter().for_each(|input| self.pass_all_but(*input, output, &[*axis]));
            }
            Op::Gather { axis } => {
                let (data, positions) = (inputs[0], inputs[1]);
                let (rank, more) = (self.of[data.0].len(), self.of[positions.0].len());
                self.fix(positions);
                self.labels.fix(self.of[data.0][*axis]);
                (0..*axis).for_each(|at| self.pass(data, at, output, at));
                (*axis..*axis + more).for_each(|at| self.labels.fix(self.of[output.0][at]));
                (*axis + 1..rank).for_each(|at| self.pass(data, at, output, at + more - 1));
            }
            Op::Conv { groups, .. } => self.convolution(inputs[0], inputs[1], output, *groups),
            Op::MaxPool { .. } | Op::AveragePool { .. } => {
                let rank = self.of[output.0].len();
                let spatial: Vec<usize> = (rank.saturating_sub(2)..rank).collect();
                self.pass_all_but(inputs[0], output, &spatial);
            }
            Op::Random { .. } => {}
            Op::SumTo
            | Op::ScatterAdd { .. }
            | Op::ConvInputGradient { .. }
            | Op::ConvFilterGradient { .. }
            | Op::MaxPoolGradient { .. }
            | Op::AveragePoolGradient { .. } => {
                inputs.iter().chain([&output]).for_each(|value| self.fix(*value));
            }
        }
    }

    fn pass(&mut self, from: ValueId, from_axis: usize, to: ValueId, to_axis: usize) {
        self.labels.join(self.of[from.0][from_axis], self.of[to.0][to_axis]);
    }

    /// Joins all axes except some, which keep their sizes.
    fn pass_all_but(&mut self, from: ValueId, to: ValueId, fixed: &[usize]) {
        for axis in 0..self.of[from.0].len() {
            if fixed.contains(&axis) {
                self.labels.fix(self.of[from.0][axis]);
                self.labels.fix(self.of[to.0][axis]);
            } else {
                self.pass(from, axis, to, axis);
            }
        }
    }

    /// Joins the axes of a value with the axes to which it is broadcast, except the last `skipped` axes.
    fn join_from_the_right(&mut self, from: ValueId, to: ValueId, skipped: usize) {
        let (shape, wide) = (self.graph.shape(from), self.graph.shape(to));
        for (one, other) in (0..shape.len()).rev().zip((0..wide.len()).rev()).skip(skipped) {
            // An axis of size 1 is repeated as often as needed.
            if shape[one] == wide[other] {
                self.pass(from, one, to, other);
            }
        }
    }

    /// Fixes the axes of an output that it has from constants only, although it depends on inputs. They count something, such as the
    /// categories to which a feature is compared.
    fn fix_what_only_constants_have(&mut self, inputs: &[ValueId], output: ValueId) {
        if !self.origins[output.0].inputs {
            return;
        }
        for (from_the_right, axis) in (0..self.of[output.0].len()).rev().enumerate() {
            let has_axis = |input: &&ValueId| {
                self.graph.shape(**input).iter().rev().nth(from_the_right).is_some_and(|size| *size > 1)
            };
            let is_constant = |input: &ValueId| {
                let Origins { inputs, parameters } = self.origins[input.0];
                !inputs && !parameters
            };
            let mut having = inputs.iter().filter(has_axis).peekable();
            if having.peek().is_some() && having.all(is_constant) {
                self.labels.fix(self.of[output.0][axis]);
            }
        }
    }

    fn matrix_product(&mut self, [a, b, output]: [ValueId; 3], [transpose_a, transpose_b]: [bool; 2]) {
        let [rank_a, rank_b, rank] = [a, b, output].map(|value| self.of[value.0].len());
        let (rows, inner_a) = if transpose_a { (rank_a - 1, rank_a - 2) } else { (rank_a - 2, rank_a - 1) };
        let (inner_b, columns) =
            if transpose_b { (rank_b - 1, rank_b - 2) } else { (rank_b - 2, rank_b - 1) };
        self.labels.join(self.of[a.0][inner_a], self.of[b.0][inner_b]);
        if self.origins[a.0].inputs && self.origins[b.0].inputs {
            // No weight reads the units, so removing them would not be the same as setting weights to 0.
            self.labels.fix(self.of[a.0][inner_a]);
        }
        self.pass(a, rows, output, rank - 2);
        self.pass(b, columns, output, rank - 1);
        self.join_from_the_right(a, output, 2);
        self.join_from_the_right(b, output, 2);
    }

    fn convolution(&mut self, input: ValueId, filter: ValueId, output: ValueId, groups: usize) {
        let (shape, filters) = (self.graph.shape(input), self.graph.shape(filter));
        self.pass(input, 0, output, 0);
        for axis in [2, 3] {
            for value in [input, filter, output] {
                self.labels.fix(self.of[value.0][axis]);
            }
        }
        let [channels, inner, outer] = [self.of[input.0][1], self.of[filter.0][1], self.of[filter.0][0]];
        if groups == 1 {
            self.labels.join(channels, inner);
            if self.origins[filter.0].inputs {
                self.labels.fix(inner);
            }
        } else if is_depthwise(groups, shape, filters) {
            self.labels.join(Labels::merged(channels, filters[0] / groups), outer);
        } else {
            [channels, inner, outer].into_iter().for_each(|axis| self.labels.fix(axis));
        }
        self.pass(filter, 0, output, 1);
    }

    /// Returns the axes along which a slice does not read everything as it is.
    fn changed(&self, input: ValueId, output: ValueId, starts: &[usize], steps: &[isize]) -> Vec<usize> {
        let sizes = self.graph.shape(input).iter().zip(self.graph.shape(output));
        let whole =
            sizes.zip(starts.iter().zip(steps)).map(|((one, other), at)| one == other && at == (&0, &1));
        whole.enumerate().filter(|(_, is_whole)| !is_whole).map(|(axis, _)| axis).collect()
    }

    /// Joins the groups of axes that hold the same elements before and after. Of each group, only the outermost axis can shrink.
    fn reshape(&mut self, input: ValueId, output: ValueId) {
        let (before, after) = (self.graph.shape(input), self.graph.shape(output));
        if before.contains(&0) {
            return [input, output].into_iter().for_each(|value| self.fix(value));
        }
        let long = |shape: &[usize]| {
            shape.iter().copied().enumerate().filter(|(_, size)| *size > 1).collect::<Vec<_>>()
        };
        let (before, after) = (long(before), long(after));
        let (mut before, mut after) = (before.into_iter(), after.into_iter());
        while let (Some(one), Some(other)) = (before.next(), after.next()) {
            let (mut ones, mut others) = (vec![one], vec![other]);
            let volume = |group: &[(usize, usize)]| group.iter().map(|(_, size)| size).product::<usize>();
            loop {
                let next = match volume(&ones).cmp(&volume(&others)) {
                    std::cmp::Ordering::Equal => break,
                    std::cmp::Ordering::Less => before.next().map(|next| ones.push(next)),
                    std::cmp::Ordering::Greater => after.next().map(|next| others.push(next)),
                };
                if next.is_none() {
                    break;
                }
            }
            self.regroup((input, &ones), (output, &others));
        }
    }

    fn regroup(
        &mut self,
        (input, ones): (ValueId, &[(usize, usize)]),
        (output, others): (ValueId, &[(usize, usize)]),
    ) {
        let of = |axes: &Self, value: ValueId, group: &[(usize, usize)]| {
            group.iter().map(|(axis, _)| axes.of[value.0][*axis]).collect::<Vec<Axis>>()
        };
        let (from, to) = (of(self, input, ones), of(self, output, others));
        match (&from[..], &to[..]) {
            ([one], [other]) => self.labels.join(*one, *other),
            ([whole], [outer, rest @ ..]) | ([outer, rest @ ..], [whole]) => {
                let group = if from.len() == 1 { others } else { ones };
                let inner = group[1..].iter().map(|(_, size)| size).product();
                rest.iter().for_each(|axis| self.labels.fix(*axis));
                self.labels.join(*whole, Labels::merged(*outer, inner));
            }
            _ => from.iter().chain(&to).for_each(|axis| self.labels.fix(*axis)),
        }
    }
}

/// Returns whether each group of a convolution has one input channel.
pub(super) fn is_depthwise(groups: usize, input: &[usize], filter: &[usize]) -> bool {
    groups > 1 && groups == input[1] && filter[1] == 1
}
