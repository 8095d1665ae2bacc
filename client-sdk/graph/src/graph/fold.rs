//! Appends nodes. If all inputs of a node are constant, computes its output at once.

use super::{Graph, Node, Source, ValueId};
use crate::cpu;
use crate::op::{ElementOp, Op, volume};

/// The maximum number of elements of a folded result. This covers shape arithmetic, masks and tables, but not
/// activations.
const FOLDED_ELEMENTS_MAX: usize = 1 << 22;

impl Graph {
    /// Appends a node whose output has this shape, or returns the value that it simplifies to.
    pub(super) fn push(&mut self, op: Op, inputs: Vec<ValueId>, shape: Vec<usize>) -> ValueId {
        if let Some(same) = self.unchanged(&op, &inputs, &shape) {
            return same;
        }
        let constants: Option<Vec<&[f64]>> = inputs.iter().map(|id| self.constant(*id)).collect();
        if let Some(elements) = constants.filter(|_| self.is_foldable(&op, &inputs, &shape)) {
            let shapes: Vec<&[usize]> = inputs.iter().map(|id| self.shape(*id)).collect();
            let folded = cpu::compute(&op, &elements, &shapes, &shape);
            return self.add_constant(&shape, folded);
        }
        let output = self.add_value(shape, Source::Node(self.nodes.len()));
        self.nodes.push(Node { op, inputs, output });
        output
    }

    fn is_foldable(&self, op: &Op, inputs: &[ValueId], shape: &[usize]) -> bool {
        let is_small = |shape: &[usize]| volume(shape) <= FOLDED_ELEMENTS_MAX;
        !matches!(op, Op::Random { .. })
            && is_small(shape)
            && inputs.iter().all(|input| is_small(self.shape(*input)))
    }

    /// Returns the input if the operator would only copy it.
    fn unchanged(&self, op: &Op, inputs: &[ValueId], shape: &[usize]) -> Option<ValueId> {
        let first = *inputs.first()?;
        let keeps_shape = |id: ValueId| (self.shape(id) == shape).then_some(id);
        let is = |id: ValueId, number: f64| self.scalar(id) == Some(number);
        match op {
            Op::Reshape | Op::Broadcast | Op::SumTo => keeps_shape(first),
            Op::Transpose { axes } => axes.is_sorted().then_some(first),
            Op::Concat { .. } if inputs.len() == 1 => Some(first),
            Op::Reduce { axes, .. } if axes.is_empty() => Some(first),
            Op::Slice { steps, .. } if steps.iter().all(|step| *step == 1) => keeps_shape(first),
            Op::Element(ElementOp::Multiply) if is(inputs[1], 1.0) => keeps_shape(first),
            Op::Element(ElementOp::Multiply) if is(first, 1.0) => keeps_shape(inputs[1]),
            Op::Element(ElementOp::Divide) if is(inputs[1], 1.0) => keeps_shape(first),
            Op::Element(ElementOp::Add | ElementOp::Subtract) if is(inputs[1], 0.0) => keeps_shape(first),
            Op::Element(ElementOp::Add) if is(first, 0.0) => keeps_shape(inputs[1]),
            _ => None,
        }
    }
}
