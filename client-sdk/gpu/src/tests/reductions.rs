//! Sums, maxima, minima and their positions: every division of the work, ties, NaN and infinities.

use folkmoot_graph::Graph;
use folkmoot_graph::op::{ElementOp, Reduction, volume};

use super::{Tolerance, compare, numbers};

/// Shapes and reduced axes: one invocation for each output, several, whole workgroups, and two stages.
const REDUCTIONS: [(&[usize], &[usize]); 18] = [
    (&[], &[]),
    (&[1], &[0]),
    (&[7], &[0]),
    (&[2, 3, 4], &[0, 2]),
    (&[2, 3, 4], &[]),
    (&[64, 10], &[1]),
    (&[64, 10], &[0]),
    (&[300, 257], &[0]),
    (&[300, 257], &[1]),
    (&[3, 20_000], &[1]),
    (&[100_003], &[0]),
    (&[20_000, 33], &[0]),
    (&[8, 12, 7, 7], &[0, 2, 3]),
    (&[4, 3, 5, 2, 6], &[1, 3]),
    (&[4, 3, 5, 2, 6], &[0, 2, 4]),
    (&[70_000, 3], &[1]),
    (&[3, 140_000], &[0]),
    (&[2, 1, 9, 1], &[1, 2]),
];

#[test]
fn any_axes_of_any_shape() {
    for (shape, axes) in REDUCTIONS {
        println!("{shape:?} over {axes:?}");
        let mut graph = Graph::default();
        let x = graph.add_input(shape);
        let kinds = [Reduction::Sum, Reduction::Maximum, Reduction::Minimum];
        let outputs = kinds.map(|kind| graph.reduce(kind, x, axes));
        let elements = numbers(volume(shape), 1);
        compare(&graph, &outputs, &[&elements], Tolerance { relative: 1e-5, absolute: 1e-3 });
        compare(&graph, &outputs[1..], &[&elements], Tolerance::EXACT);
    }
}

#[test]
fn one_nan_is_enough() {
    for (shape, axes) in REDUCTIONS {
        for place in [0, volume(shape) / 2, volume(shape) - 1] {
            let mut graph = Graph::default();
            let x = graph.add_input(shape);
            let outputs = [Reduction::Maximum, Reduction::Minimum].map(|kind| graph.reduce(kind, x, axes));
            let mut elements = numbers(volume(shape), 2);
            elements[place] = f32::NAN;
            compare(&graph, &outputs, &[&elements], Tolerance::EXACT);
        }
    }
}

/// Tests that operators before and after a reduction can be fused.
#[test]
fn a_softmax_and_its_like() {
    for shape in [[3, 10], [1, 16], [45, 33], [5, 257], [1, 30_000]] {
        let mut graph = Graph::default();
        let x = graph.add_input(&shape);
        let largest = graph.reduce(Reduction::Maximum, x, &[1]);
        let shifted = graph.element(ElementOp::Subtract, &[x, largest]).expect("it fits");
        let powers = graph.element(ElementOp::Exponential, &[shifted]).expect("it fits");
        let sum = graph.reduce(Reduction::Sum, powers, &[1]);
        let logarithm = graph.element(ElementOp::Logarithm, &[sum]).expect("it fits");
        let loss = graph.element(ElementOp::Subtract, &[shifted, logarithm]).expect("it fits");
        let mean = graph.mean(loss, &[0, 1]).expect("it fits");
        compare(&graph, &[loss, mean], &[&numbers(volume(&shape), 3)], Tolerance::ROUNDING);
    }
}

#[test]
fn sums_of_what_was_repeated() {
    for (from, to) in [(&[4, 3, 5][..], &[3, 1][..]), (&[2, 2], &[]), (&[6, 300], &[300]), (&[5, 1], &[1])] {
        let mut graph = Graph::default();
        let x = graph.add_input(from);
        let sum = graph.sum_to(x, to).expect("it fits");
        compare(&graph, &[sum], &[&numbers(volume(from), 4)], Tolerance::ROUNDING);
    }
}

#[test]
fn the_first_or_last_largest() {
    let shapes: [(&[usize], usize); 8] = [
        (&[64, 10], 1),
        (&[10, 64], 0),
        (&[5, 7, 3], 1),
        (&[1], 0),
        (&[3, 5000], 1),
        (&[5000, 3], 0),
        (&[500, 40], 0),
        (&[9, 70_000], 0),
    ];
    for (shape, axis) in shapes {
        let plain = numbers(volume(shape), 5);
        let ties: Vec<f32> = plain.iter().map(|x| (x * 2.0).round()).collect();
        let gaps = ties.iter().enumerate().map(|(i, x)| if i % 3 == 0 { f32::NAN } else { *x });
        let ends = gaps.clone().map(|x| if x >= 2.0 { f32::INFINITY } else { x });
        for elements in [plain, ties.clone(), gaps.collect(), ends.collect()] {
            let mut graph = Graph::default();
            let x = graph.add_input(shape);
            let outputs = [false, true].map(|last| graph.argument_of_maximum(x, axis, last));
            compare(&graph, &outputs, &[&elements], Tolerance::EXACT);
        }
    }
}
