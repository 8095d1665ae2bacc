//! One function for each operator: it checks the shapes and appends the node.

use super::{Graph, Node, Source, ValueId};
use crate::op::{ElementOp, Op, Reduction, ShapeError, Window, broadcast, volume};

type Built = Result<ValueId, ShapeError>;

impl Graph {
    /// Appends an elementwise operator, with broadcasting.
    pub fn element(&mut self, op: ElementOp, inputs: &[ValueId]) -> Built {
        debug_assert_eq!(inputs.len(), op.arity());
        let shapes: Vec<&[usize]> = inputs.iter().map(|id| self.shape(*id)).collect();
        let shape = broadcast(&shapes)?;
        Ok(self.push(Op::Element(op), inputs.to_vec(), shape))
    }

    /// Appends an elementwise operator whose second input is a constant number.
    pub fn element_with(&mut self, op: ElementOp, input: ValueId, number: f64) -> Built {
        let number = self.add_scalar(number);
        self.element(op, &[input, number])
    }

    /// Appends a reshape: the same elements in another shape.
    pub fn reshape(&mut self, input: ValueId, shape: &[usize]) -> Built {
        if volume(self.shape(input)) != volume(shape) {
            return Err(ShapeError::new("reshaping", &[self.shape(input), shape]));
        }
        Ok(self.push(Op::Reshape, vec![input], shape.to_vec()))
    }

    /// Appends a transpose: output axis `i` is input axis `axes[i]`.
    pub fn transpose(&mut self, input: ValueId, axes: &[usize]) -> Built {
        let from = self.shape(input);
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..from.len()) {
            return Err(ShapeError::new(&format!("the permutation {axes:?}"), &[from]));
        }
        let shape = axes.iter().map(|axis| from[*axis]).collect();
        Ok(self.push(Op::Transpose { axes: axes.to_vec() }, vec![input], shape))
    }

    /// Appends a broadcast of the input to a shape.
    pub fn broadcast_to(&mut self, input: ValueId, shape: &[usize]) -> Built {
        if broadcast(&[self.shape(input), shape])? != shape {
            return Err(ShapeError::new("broadcasting", &[self.shape(input), shape]));
        }
        Ok(self.push(Op::Broadcast, vec![input], shape.to_vec()))
    }

    /// Appends a sum over the axes along which `shape` would be broadcast to the input's shape.
    pub fn sum_to(&mut self, input: ValueId, shape: &[usize]) -> Built {
        if broadcast(&[self.shape(input), shape])? != self.shape(input) {
            return Err(ShapeError::new("summing", &[self.shape(input), shape]));
        }
        Ok(self.push(Op::SumTo, vec![input], shape.to_vec()))
    }

    /// Appends a reduction. Reduced axes keep size 1. The axes must be in range, ascending and distinct.
    pub fn reduce(&mut self, kind: Reduction, input: ValueId, axes: &[usize]) -> ValueId {
        let shape = self.with_ones(input, axes);
        self.push(Op::Reduce { kind, axes: axes.to_vec() }, vec![input], shape)
    }

    /// Appends the mean over axes. Reduced axes keep size 1.
    pub fn mean(&mut self, input: ValueId, axes: &[usize]) -> Built {
        let count: usize = axes.iter().map(|axis| self.shape(input)[*axis]).product();
        let sum = self.reduce(Reduction::Sum, input, axes);
        self.element_with(ElementOp::Multiply, sum, 1.0 / count.max(1) as f64)
    }

    /// Appends the search for the position of the maximum along an axis, which keeps size 1. If several elements are
    /// equal to the maximum, returns the position of the first, or of the last if `last` is true.
    pub fn argument_of_maximum(&mut self, input: ValueId, axis: usize, last: bool) -> ValueId {
        let shape = self.with_ones(input, &[axis]);
        self.push(Op::ArgMaximum { axis, last }, vec![input], shape)
    }

    /// Appends `op(A) op(B)` over the last two axes; the other axes broadcast. A and B must have at least two axes. If an
    /// input only swaps the last two axes of another value, the product reads that value instead.
    pub fn matmul(&mut self, a: ValueId, b: ValueId, transpose_a: bool, transpose_b: bool) -> Built {
        let ((a, swaps_a), (b, swaps_b)) = (self.before_swap(a), self.before_swap(b));
        let (transpose_a, transpose_b) = (transpose_a != swaps_a, transpose_b != swaps_b);
        let (left, right) = (self.shape(a).to_vec(), self.shape(b).to_vec());
        let misfit = || ShapeError::new("the matrix product", &[&left, &right]);
        let (Some((left_batch, [m, k])), Some((right_batch, [l, n]))) =
            (left.split_last_chunk::<2>(), right.split_last_chunk::<2>())
        else {
            return Err(misfit());
        };
        let (m, k) = if transpose_a { (k, m) } else { (m, k) };
        let (l, n) = if transpose_b { (n, l) } else { (l, n) };
        if k != l {
            return Err(misfit());
        }
        let mut shape = broadcast(&[left_batch, right_batch]).map_err(|_| misfit())?;
        shape.extend([*m, *n]);
        Ok(self.push(Op::MatMul { transpose_a, transpose_b }, vec![a, b], shape))
    }

    /// Returns the value whose last two axes this value swaps, and true; or this value, and false.
    fn before_swap(&self, id: ValueId) -> (ValueId, bool) {
        let Source::Node(index) = self.values[id.0].source else { return (id, false) };
        let Node { op: Op::Transpose { axes }, inputs, .. } = &self.nodes[index] else { return (id, false) };
        let rank = axes.len();
        let is_swap = rank >= 2
            && axes[rank - 2..] == [rank - 1, rank - 2]
            && axes[..rank - 2].iter().copied().eq(0..rank - 2);
        if is_swap { (inputs[0], true) } else { (id, false) }
    }

    /// Appends a slice: reads `sizes` positions along each axis, starting at `starts`, with strides `steps`.
    pub fn slice(&mut self, input: ValueId, starts: &[usize], steps: &[isize], sizes: &[usize]) -> Built {
        check_positions(self.shape(input), starts, steps, sizes)?;
        let op = Op::Slice { starts: starts.to_vec(), steps: steps.to_vec() };
        Ok(self.push(op, vec![input], sizes.to_vec()))
    }

    /// Appends a slice of one axis: `size` positions from `start` on.
    pub fn slice_axis(&mut self, input: ValueId, axis: usize, start: usize, size: usize) -> Built {
        let mut sizes = self.shape(input).to_vec();
        let mut starts = vec![0; sizes.len()];
        (starts[axis], sizes[axis]) = (start, size);
        let steps = vec![1; sizes.len()];
        self.slice(input, &starts, &steps, &sizes)
    }

    /// Appends the reverse of a slice: writes the input's elements into a tensor of zeros with this shape, from the
    /// positions `starts` on and with strides `steps`.
    pub fn unslice(&mut self, input: ValueId, starts: &[usize], steps: &[isize], shape: &[usize]) -> Built {
        check_positions(shape, starts, steps, self.shape(input))?;
        if self.shape(input) == shape && steps.iter().all(|step| *step == 1) {
            return Ok(input);
        }
        let op = Op::Unslice { starts: starts.to_vec(), steps: steps.to_vec() };
        Ok(self.push(op, vec![input], shape.to_vec()))
    }

    /// Appends the concatenation of one or more inputs along an axis.
    pub fn concat(&mut self, inputs: &[ValueId], axis: usize) -> Built {
        let mut shape = self.shape(inputs[0]).to_vec();
        shape[axis] = 0;
        for input in inputs {
            let own = self.shape(*input);
            let fits = own.len() == shape.len() && (0..own.len()).all(|i| i == axis || own[i] == shape[i]);
            if !fits {
                return Err(ShapeError::new("joining", &[self.shape(inputs[0]), own]));
            }
            shape[axis] += own[axis];
        }
        Ok(self.push(Op::Concat { axis }, inputs.to_vec(), shape))
    }

    /// Appends a gather: reads `data[.., positions, ..]` along the axis.
    pub fn gather(&mut self, data: ValueId, positions: ValueId, axis: usize) -> ValueId {
        let from = self.shape(data);
        let shape = [&from[..axis], self.shape(positions), &from[axis + 1..]].concat();
        self.push(Op::Gather { axis }, vec![data, positions], shape)
    }

    /// Appends the gradient of [`Graph::gather`] with respect to data of `shape`.
    pub fn scatter_add(
        &mut self,
        values: ValueId,
        positions: ValueId,
        axis: usize,
        shape: &[usize],
    ) -> ValueId {
        self.push(Op::ScatterAdd { axis }, vec![values, positions], shape.to_vec())
    }

    /// Appends uniform random numbers in [0, 1), drawn again in each step.
    pub fn random(&mut self, shape: &[usize]) -> ValueId {
        let stream = self.nodes.len() as u64;
        self.push(Op::Random { stream }, vec![], shape.to_vec())
    }

    /// Appends a convolution of `[N, C, H, W]`. `end_pads` is the padding below and to the right.
    pub fn conv(
        &mut self,
        input: ValueId,
        filter: ValueId,
        window: Window,
        end_pads: [usize; 2],
        groups: usize,
    ) -> Built {
        let (from, with) = (self.shape(input), self.shape(filter));
        let misfit = || ShapeError::new("the convolution", &[from, with]);
        let ([n, c, h, w], [m, per_group, kh, kw]) = (from, with) else { return Err(misfit()) };
        let fits = groups > 0 && c % groups == 0 && m % groups == 0 && c / groups == *per_group;
        if !fits || window.kernel != [*kh, *kw] {
            return Err(misfit());
        }
        let rows = window.positions(0, h + window.pads[0] + end_pads[0]).ok_or_else(misfit)?;
        let columns = window.positions(1, w + window.pads[1] + end_pads[1]).ok_or_else(misfit)?;
        let shape = vec![*n, *m, rows, columns];
        Ok(self.push(Op::Conv { window, groups }, vec![input, filter], shape))
    }

    /// Appends the gradient of a convolution with respect to its input of `shape`. This is also the transposed
    /// convolution.
    pub fn conv_input_gradient(
        &mut self,
        gradient: ValueId,
        filter: ValueId,
        window: Window,
        groups: usize,
        shape: &[usize],
    ) -> ValueId {
        self.push(Op::ConvInputGradient { window, groups }, vec![gradient, filter], shape.to_vec())
    }

    /// Appends the gradient of a convolution with respect to its filter of `shape`.
    pub fn conv_filter_gradient(
        &mut self,
        gradient: ValueId,
        input: ValueId,
        window: Window,
        groups: usize,
        shape: &[usize],
    ) -> ValueId {
        self.push(Op::ConvFilterGradient { window, groups }, vec![gradient, input], shape.to_vec())
    }

    /// Appends a pooling operator whose output has this shape.
    pub fn pool(&mut self, op: Op, inputs: &[ValueId], shape: &[usize]) -> ValueId {
        self.push(op, inputs.to_vec(), shape.to_vec())
    }

    fn with_ones(&self, input: ValueId, axes: &[usize]) -> Vec<usize> {
        let mut shape = self.shape(input).to_vec();
        axes.iter().for_each(|axis| shape[*axis] = 1);
        shape
    }
}

/// Checks that a slice reads only positions inside the tensor.
fn check_positions(
    shape: &[usize],
    starts: &[usize],
    steps: &[isize],
    sizes: &[usize],
) -> Result<(), ShapeError> {
    let same_rank = [starts.len(), steps.len(), sizes.len()].iter().all(|rank| *rank == shape.len());
    let is_inside = |axis: usize| {
        let reach = (sizes[axis] as isize - 1).max(0) * steps[axis];
        let last = starts[axis] as isize + reach;
        sizes[axis] == 0 || (starts[axis] < shape[axis] && last >= 0 && (last as usize) < shape[axis])
    };
    if same_rank && (0..shape.len()).all(is_inside) {
        return Ok(());
    }
    Err(ShapeError::new(&format!("a slice from {starts:?} in steps of {steps:?}"), &[shape, sizes]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_reads_through_a_swap_of_the_last_axes() {
        let mut graph = Graph::default();
        let (x, weights) = (graph.add_input(&[2, 5, 3]), graph.add_parameter(0, &[4, 3]));
        let swapped = graph.transpose(weights, &[1, 0]).unwrap();
        let product = graph.matmul(x, swapped, false, false).unwrap();
        let node = graph.nodes.last().unwrap();
        assert_eq!(graph.shape(product), [2, 5, 4]);
        assert_eq!(node.op, Op::MatMul { transpose_a: false, transpose_b: true });
        assert_eq!(node.inputs, [x, weights]);
        // Another permutation is not a transpose of each matrix.
        let moved = graph.transpose(x, &[1, 0, 2]).unwrap();
        let rows = graph.add_input(&[5, 3, 6]);
        graph.matmul(moved, rows, false, false).unwrap();
        assert_eq!(graph.nodes.last().unwrap().inputs, [moved, rows]);
    }
}
