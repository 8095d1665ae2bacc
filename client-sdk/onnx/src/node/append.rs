//! Appends operators to the graph. Checks the size of each result against the limit before computing it, and names the
//! node if shapes are incompatible.

use super::NodeLowering;
use crate::ImportError;
use crate::attributes::node_name;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{ElementOp, Reduction, ShapeError, broadcast};

type Appended = Result<ValueId, ImportError>;

impl NodeLowering<'_> {
    /// Creates the error for incompatible shapes at this node.
    pub(crate) fn misfit(&self, source: ShapeError) -> ImportError {
        ImportError::Shape { node: node_name(self.proto), source }
    }

    /// Returns the shape to which all of these broadcast, if it is within the limit.
    pub(crate) fn broadcast_shape(&self, values: &[ValueId]) -> Result<Vec<usize>, ImportError> {
        let shapes: Vec<&[usize]> = values.iter().map(|value| self.graph.shape(*value)).collect();
        let shape = broadcast(&shapes).map_err(|source| self.misfit(source))?;
        self.fits(&shape)?;
        Ok(shape)
    }

    pub(crate) fn element(&mut self, op: ElementOp, inputs: &[ValueId]) -> Appended {
        let shape = self.broadcast_shape(inputs)?;
        if shape.contains(&0) {
            return Ok(self.empty(&shape));
        }
        self.graph.element(op, inputs).map_err(|source| self.misfit(source))
    }

    /// Appends an elementwise operator with one input.
    pub(crate) fn unary(&mut self, op: ElementOp, input: ValueId) -> Appended {
        self.element(op, &[input])
    }

    /// Appends an elementwise operator with two inputs.
    pub(crate) fn binary(&mut self, op: ElementOp, a: ValueId, b: ValueId) -> Appended {
        self.element(op, &[a, b])
    }

    /// Appends an elementwise operator whose second input is a number.
    pub(crate) fn with_number(&mut self, op: ElementOp, input: ValueId, number: f64) -> Appended {
        let number = self.graph.add_scalar(number);
        self.binary(op, input, number)
    }

    /// Appends `number / input`.
    pub(crate) fn number_over(&mut self, number: f64, input: ValueId) -> Appended {
        let number = self.graph.add_scalar(number);
        self.binary(ElementOp::Divide, number, input)
    }

    /// Appends `condition ? a : b`.
    pub(crate) fn select(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> Appended {
        self.element(ElementOp::Select, &[condition, a, b])
    }

    pub(crate) fn reshape(&mut self, input: ValueId, shape: &[usize]) -> Appended {
        if self.fits(shape)? == 0 && self.graph.shape(input).contains(&0) {
            return Ok(self.empty(shape));
        }
        self.graph.reshape(input, shape).map_err(|source| self.misfit(source))
    }

    pub(crate) fn transpose(&mut self, input: ValueId, axes: &[usize]) -> Appended {
        self.graph.transpose(input, axes).map_err(|source| self.misfit(source))
    }

    pub(crate) fn broadcast_to(&mut self, input: ValueId, shape: &[usize]) -> Appended {
        self.fits(shape)?;
        self.graph.broadcast_to(input, shape).map_err(|source| self.misfit(source))
    }

    pub(crate) fn reduce(&mut self, kind: Reduction, input: ValueId, axes: &[usize]) -> ValueId {
        self.graph.reduce(kind, input, axes)
    }

    pub(crate) fn mean(&mut self, input: ValueId, axes: &[usize]) -> Appended {
        self.graph.mean(input, axes).map_err(|source| self.misfit(source))
    }

    /// Appends `op(A) op(B)` over the last two axes; the other axes broadcast.
    pub(crate) fn matmul(&mut self, a: ValueId, b: ValueId, transpose: [bool; 2]) -> Appended {
        let (left, right) = (self.shape(a), self.shape(b));
        if let (Some((left_batch, [m, k])), Some((right_batch, [l, n]))) =
            (left.split_last_chunk::<2>(), right.split_last_chunk::<2>())
        {
            let mut shape = broadcast(&[left_batch, right_batch]).map_err(|source| self.misfit(source))?;
            shape.extend([if transpose[0] { k } else { m }, if transpose[1] { l } else { n }]);
            self.fits(&shape)?;
        }
        self.graph.matmul(a, b, transpose[0], transpose[1]).map_err(|source| self.misfit(source))
    }

    pub(crate) fn slice(
        &mut self,
        input: ValueId,
        starts: &[usize],
        steps: &[isize],
        sizes: &[usize],
    ) -> Appended {
        self.graph.slice(input, starts, steps, sizes).map_err(|source| self.misfit(source))
    }

    pub(crate) fn slice_axis(&mut self, input: ValueId, axis: usize, start: usize, size: usize) -> Appended {
        self.graph.slice_axis(input, axis, start, size).map_err(|source| self.misfit(source))
    }

    /// Returns zeros of `shape` with the input's elements written from `starts` on.
    pub(crate) fn unslice(&mut self, input: ValueId, starts: &[usize], shape: &[usize]) -> Appended {
        self.fits(shape)?;
        let steps = vec![1; shape.len()];
        self.graph.unslice(input, starts, &steps, shape).map_err(|source| self.misfit(source))
    }

    pub(crate) fn concat(&mut self, inputs: &[ValueId], axis: usize) -> Appended {
        let mut shape = self.shape(inputs[0]);
        let sizes = inputs.iter().map(|input| self.graph.shape(*input).get(axis).copied().unwrap_or(0));
        shape[axis] = sizes.fold(0, usize::saturating_add);
        self.fits(&shape)?;
        self.graph.concat(inputs, axis).map_err(|source| self.misfit(source))
    }

    pub(crate) fn gather(&mut self, data: ValueId, positions: ValueId, axis: usize) -> Appended {
        let from = self.shape(data);
        self.fits(&[&from[..axis], self.graph.shape(positions), &from[axis + 1..]].concat())?;
        Ok(self.graph.gather(data, positions, axis))
    }
}
