//! Single operators over random shapes, axes and windows, including empty ones.

use folkmoot_graph::op::{Op, Reduction, Window, volume};
use folkmoot_graph::{Graph, ValueId};
use proptest::prelude::*;

use super::{Tolerance, compare, numbers};

/// Compares one operator on a tensor of this shape.
fn check(
    shape: &[usize],
    tolerance: Tolerance,
    append: impl Fn(&mut Graph, ValueId) -> Option<Vec<ValueId>>,
) {
    let mut graph = Graph::default();
    let x = graph.add_input(shape);
    if let Some(outputs) = append(&mut graph, x) {
        compare(&graph, &outputs, &[&numbers(volume(shape), 1)], tolerance);
    }
}

/// Returns the tolerance for sums of this many terms.
///
/// [`Tolerance::ROUNDING`] estimates the magnitude of the terms from the largest result. If everything is summed to one
/// number, the terms may cancel and the result may be small. The magnitude is then that of a sum with random signs,
/// which grows with the square root of the number of terms. A missing or repeated term exceeds this tolerance for any
/// number of terms here.
fn of_sums(terms: usize) -> Tolerance {
    let rounding = Tolerance::ROUNDING;
    Tolerance { absolute: rounding.absolute + rounding.relative * (terms as f32).sqrt(), ..rounding }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 32, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_reduction(shape in prop::collection::vec(0usize..40, 1..4), mask in 1usize..8, kind in 0usize..3) {
        let kind = [Reduction::Sum, Reduction::Maximum, Reduction::Minimum][kind];
        let axes: Vec<usize> = (0..shape.len()).filter(|axis| mask >> axis & 1 == 1).collect();
        let reduced: usize = axes.iter().map(|axis| shape[*axis]).product();
        // The maximum or minimum of nothing is undefined.
        prop_assume!(!axes.is_empty() && (reduced > 0 || kind == Reduction::Sum));
        check(&shape, of_sums(reduced), |graph, x| Some(vec![graph.reduce(kind, x, &axes)]));
    }

    #[test]
    fn any_pool(size in (1usize..4, 1usize..4, 1usize..13, 1usize..13), kernel in (1usize..4, 1usize..4),
                strides in (1usize..4, 1usize..4), pad in 0usize..2) {
        let shape = [size.0, size.1, size.2, size.3];
        let pads = [pad.min(kernel.0 - 1), pad.min(kernel.1 - 1)];
        let window =
            Window { kernel: [kernel.0, kernel.1], strides: [strides.0, strides.1], dilations: [1, 1], pads };
        let positions = [0, 1].map(|axis| window.positions(axis, shape[2 + axis] + 2 * pads[axis]));
        let [Some(rows), Some(columns)] = positions else { return Ok(()) };
        let output = [shape[0], shape[1], rows, columns];
        check(&shape, Tolerance::ROUNDING, |graph, x| {
            let counted_padding = None;
            let largest = graph.pool(Op::MaxPool { window }, &[x], &output);
            let mean = graph.pool(Op::AveragePool { window, counted_padding }, &[x], &output);
            let to_largest = graph.pool(Op::MaxPoolGradient { window }, &[x, mean], &shape);
            let to_all = graph.pool(Op::AveragePoolGradient { window, counted_padding }, &[largest], &shape);
            Some(vec![largest, mean, to_largest, to_all])
        });
    }

    #[test]
    fn any_move(shape in prop::collection::vec(1usize..9, 1..4), axis in 0usize..4, at in prop::collection::vec(0usize..9, 1..12)) {
        let axis = axis % shape.len();
        check(&shape, Tolerance::ROUNDING, |graph, x| {
            let positions = at.iter().map(|at| (at % shape[axis]) as f64).collect();
            let positions = graph.add_constant(&[at.len()], positions);
            let gathered = graph.gather(x, positions, axis);
            let scattered = graph.scatter_add(gathered, positions, axis, &shape);
            let larger: Vec<usize> = shape.iter().map(|size| 2 * size + 1).collect();
            let padded = graph.unslice(x, &vec![1; shape.len()], &vec![2; shape.len()], &larger).ok()?;
            let joined = graph.concat(&[x, gathered, x], axis).ok()?;
            Some(vec![gathered, scattered, padded, joined])
        });
    }
}
