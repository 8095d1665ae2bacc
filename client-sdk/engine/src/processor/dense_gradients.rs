//! Finds the factors of dense layers' gradients, which are sums of outer products.

use folkmoot_graph::op::{ElementOp, Op};
use folkmoot_graph::{Graph, Source, ValueId};

/// A matrix product that is a gradient or one term of a gradient. It is a sum of outer products of vectors from both
/// sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DenseSlope {
    /// The left vectors; each has one element per row of the gradient.
    pub(crate) left: Side,
    /// The right vectors; each has one element per column of the gradient.
    pub(crate) right: Side,
    /// The number of outer products.
    pub(crate) count: usize,
}

/// A stored matrix, viewed as vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) value: ValueId,
    /// The number of elements in a vector.
    pub(crate) length: usize,
    /// True if the vectors are the rows of the matrix; otherwise they are its columns.
    pub(crate) are_rows: bool,
}

/// Finds the matrix products whose sum is a gradient of `rows` times `columns`. Returns `None` for other gradients.
pub(crate) fn dense_slopes(
    graph: &Graph,
    slope: ValueId,
    rows: usize,
    columns: usize,
) -> Option<Vec<DenseSlope>> {
    let mut at = slope;
    // A parameter may be read in another shape with the same number of rows and columns.
    while let Some((Op::Reshape, inputs)) = node_of(graph, at) {
        at = inputs[0];
    }
    let found = find(graph, at, false)?;
    let fits = |one: &DenseSlope| (one.left.length, one.right.length) == (rows, columns);
    found.iter().all(fits).then_some(found)
}

fn find(graph: &Graph, id: ValueId, is_swapped: bool) -> Option<Vec<DenseSlope>> {
    let (op, inputs) = node_of(graph, id)?;
    match op {
        Op::MatMul { transpose_a, transpose_b } => {
            let [a, b] = [inputs[0], inputs[1]];
            let (&[a_rows, a_columns], &[b_rows, b_columns]) = (graph.shape(a), graph.shape(b)) else {
                return None;
            };
            let side = |value, rows, columns, are_rows| Side {
                value,
                length: if are_rows { columns } else { rows },
                are_rows,
            };
            let left = side(a, a_rows, a_columns, *transpose_a);
            let right = side(b, b_rows, b_columns, !*transpose_b);
            let count = if *transpose_a { a_rows } else { a_columns };
            let (left, right) = if is_swapped { (right, left) } else { (left, right) };
            Some(vec![DenseSlope { left, right, count }])
        }
        Op::Transpose { axes } if axes == &[1, 0] => find(graph, inputs[0], !is_swapped),
        Op::Element(ElementOp::Add) if inputs.iter().all(|input| graph.shape(*input) == graph.shape(id)) => {
            let parts: Option<Vec<_>> = inputs.iter().map(|input| find(graph, *input, is_swapped)).collect();
            Some(parts?.concat())
        }
        _ => None,
    }
}

fn node_of(graph: &Graph, id: ValueId) -> Option<(&Op, &[ValueId])> {
    match graph.values[id.0].source {
        Source::Node(index) => Some((&graph.nodes[index].op, &graph.nodes[index].inputs)),
        _ => None,
    }
}
