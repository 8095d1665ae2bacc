//! Pooling and its gradients.

use folkmoot_graph::Graph;
use folkmoot_graph::op::{Op, Window, volume};

use super::{Tolerance, compare, numbers};

const fn window(kernel: [usize; 2], strides: [usize; 2], dilations: [usize; 2], pads: [usize; 2]) -> Window {
    Window { kernel, strides, dilations, pads }
}

/// A window, height and width of the plane, and the padding below and to the right.
const GEOMETRIES: [(Window, [usize; 2], [usize; 2]); 11] = [
    (window([2, 2], [2, 2], [1, 1], [0, 0]), [8, 8], [0, 0]),
    (window([2, 2], [2, 2], [1, 1], [0, 0]), [5, 7], [0, 0]),
    (window([2, 2], [2, 2], [1, 1], [0, 0]), [5, 7], [1, 1]),
    (window([3, 3], [2, 2], [1, 1], [1, 1]), [8, 9], [1, 1]),
    (window([3, 2], [1, 2], [2, 1], [1, 1]), [8, 9], [1, 1]),
    (window([3, 3], [3, 3], [2, 2], [2, 1]), [11, 13], [2, 3]),
    (window([2, 2], [3, 4], [1, 2], [0, 0]), [11, 13], [0, 0]),
    (window([7, 6], [1, 1], [1, 1], [0, 0]), [7, 6], [0, 0]),
    (window([1, 1], [1, 1], [1, 1], [0, 0]), [1, 1], [0, 0]),
    (window([5, 5], [5, 5], [1, 1], [1, 2]), [14, 11], [1, 2]),
    (window([1, 3], [1, 1], [1, 1], [0, 1]), [1, 600], [0, 1]),
];

/// Returns the shapes of the planes and of the pooled result.
fn shapes(window: Window, plane: [usize; 2], end: [usize; 2]) -> [[usize; 4]; 2] {
    let along = |axis: usize| {
        window.positions(axis, plane[axis] + window.pads[axis] + end[axis]).expect("the window fits")
    };
    [[2, 3, plane[0], plane[1]], [2, 3, along(0), along(1)]]
}

#[test]
fn maxima_and_who_gets_their_gradient() {
    for (window, plane, end) in GEOMETRIES {
        println!("{window:?}");
        let [shape, pooled] = shapes(window, plane, end);
        let plain = numbers(volume(&shape), 1);
        let ties = plain.iter().map(|x| (x * 2.0).round().max(0.0)).collect();
        for elements in [plain, ties] {
            let mut graph = Graph::default();
            let (x, gradient) = (graph.add_input(&shape), graph.add_input(&pooled));
            let largest = graph.pool(Op::MaxPool { window }, &[x], &pooled);
            let back = graph.pool(Op::MaxPoolGradient { window }, &[x, gradient], &shape);
            let gradients = numbers(volume(&pooled), 2);
            compare(&graph, &[largest], &[&elements, &gradients], Tolerance::EXACT);
            compare(&graph, &[back], &[&elements, &gradients], Tolerance::ROUNDING);
        }
    }
}

#[test]
fn means_and_shares_of_their_gradient() {
    for (window, plane, end) in GEOMETRIES {
        println!("{window:?}");
        let [shape, pooled] = shapes(window, plane, end);
        for counted_padding in [None, Some(end), Some([0, 0])] {
            let mut graph = Graph::default();
            let (x, gradient) = (graph.add_input(&shape), graph.add_input(&pooled));
            let mean = graph.pool(Op::AveragePool { window, counted_padding }, &[x], &pooled);
            let back = graph.pool(Op::AveragePoolGradient { window, counted_padding }, &[gradient], &shape);
            let (elements, gradients) = (numbers(volume(&shape), 3), numbers(volume(&pooled), 4));
            compare(&graph, &[mean, back], &[&elements, &gradients], Tolerance::ROUNDING);
        }
    }
}
