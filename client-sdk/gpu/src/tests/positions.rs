//! Operators that move elements: padding, concatenation, gathering; and random numbers.

use folkmoot_graph::op::volume;
use folkmoot_graph::{Graph, ValueId};

use super::{Tolerance, compare, numbers};

/// A shape, the padded shape, and the start and step of each axis.
type Padding = (&'static [usize], &'static [usize], &'static [usize], &'static [isize]);

#[test]
fn padding_forward_backward_and_apart() {
    let cases: [Padding; 7] = [
        (&[2, 3], &[4, 8], &[1, 2], &[1, 2]),
        (&[2, 3], &[4, 8], &[3, 7], &[-2, -3]),
        (&[2, 3, 4, 5], &[2, 3, 6, 7], &[0, 0, 1, 1], &[1, 1, 1, 1]),
        (&[2, 3, 4, 5], &[5, 3, 4, 5], &[2, 0, 0, 0], &[1, 1, 1, 1]),
        (&[1], &[1], &[0], &[-1]),
        (&[3, 4], &[3, 4], &[2, 0], &[-1, 1]),
        (&[300, 1], &[300, 301], &[0, 300], &[1, 1]),
    ];
    for (shape, out, starts, steps) in cases {
        println!("{shape:?} to {out:?} by {steps:?}");
        let mut graph = Graph::default();
        let x = graph.add_input(shape);
        let padded = graph.unslice(x, starts, steps, out).expect("it fits");
        compare(&graph, &[padded], &[&numbers(volume(shape), 1)], Tolerance::EXACT);
    }
}

/// Tests up to seven tensors per dispatch, and more, one of them twice.
#[test]
fn joins_of_few_and_many() {
    let cases: [(&[usize], usize, &[usize]); 4] = [
        (&[2, 0, 3], 1, &[1, 4, 2]),
        (&[0, 5], 0, &[3]),
        (&[4, 0], 1, &[1; 17]),
        (&[2, 0, 2], 1, &[1, 300, 2, 3, 4, 5, 6, 7, 8]),
    ];
    for (base, axis, sizes) in cases {
        let mut graph = Graph::default();
        let shape = |size: usize| [&base[..axis], &[size], &base[axis + 1..]].concat();
        let elements: Vec<Vec<f32>> =
            sizes.iter().enumerate().map(|(i, size)| numbers(volume(&shape(*size)), i as u32)).collect();
        let mut inputs: Vec<ValueId> = sizes.iter().map(|size| graph.add_input(&shape(*size))).collect();
        inputs.push(inputs[0]);
        let joined = graph.concat(&inputs, axis).expect("it fits");
        let elements: Vec<&[f32]> = elements.iter().map(|elements| &elements[..]).collect();
        compare(&graph, &[joined], &elements, Tolerance::EXACT);
    }
}

/// Returns positions, some counted from the end, some out of range, and some NaN or infinite.
fn positions(count: usize, size: usize) -> Vec<f32> {
    let odd = [1e30, -1e30, f32::NAN, -0.5, 1.9, f32::INFINITY];
    let mut positions: Vec<f32> =
        numbers(count, 9).iter().map(|x| (x * 0.55 * size as f32).floor()).collect();
    if count > odd.len() {
        positions[..odd.len()].copy_from_slice(&odd);
    }
    positions
}

#[test]
fn rows_by_their_positions_and_back() {
    // The last two tables are large enough for linked lists of positions.
    let cases: [(&[usize], usize, usize); 6] = [
        (&[7, 3], 0, 5),
        (&[2, 7, 3], 1, 11),
        (&[5], 0, 1),
        (&[3, 4], 1, 9),
        (&[700, 20], 0, 600),
        (&[2, 300, 9], 1, 3000),
    ];
    for (shape, axis, count) in cases {
        println!("{count} of {shape:?} along {axis}");
        let values_shape = [&shape[..axis], &[count], &shape[axis + 1..]].concat();
        let mut graph = Graph::default();
        let (data, at) = (graph.add_input(shape), graph.add_input(&[count]));
        let values = graph.add_input(&values_shape);
        let rows = graph.gather(data, at, axis);
        let sums = graph.scatter_add(values, at, axis, shape);
        let inputs =
            [numbers(volume(shape), 2), positions(count, shape[axis]), numbers(volume(&values_shape), 3)];
        let inputs: Vec<&[f32]> = inputs.iter().map(|input| &input[..]).collect();
        compare(&graph, &[rows, sums], &inputs, Tolerance::EXACT);
    }
}

/// Tests a small table that is read at many positions, so that several invocations share each element.
#[test]
fn many_positions_of_a_small_table() {
    let (shape, count) = ([5, 3], 1000);
    let mut graph = Graph::default();
    let (values, at) = (graph.add_input(&[count, 3]), graph.add_input(&[count]));
    let sums = graph.scatter_add(values, at, 0, &shape);
    let inputs = [numbers(3 * count, 3), positions(count, 5)];
    let inputs: Vec<&[f32]> = inputs.iter().map(|input| &input[..]).collect();
    compare(&graph, &[sums], &inputs, Tolerance { relative: 1e-5, absolute: 0.0 });
}

#[test]
fn chance_is_that_of_the_cpu() {
    let mut graph = Graph::default();
    let first = graph.random(&[1000, 70]);
    let second = graph.random(&[3]);
    compare(&graph, &[first, second], &[], Tolerance::EXACT);
}
