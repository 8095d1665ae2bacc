//! Random graphs: fusion must not change a result.

use folkmoot_graph::op::{ElementOp, Op, Reduction, ShapeError, Window, volume};
use folkmoot_graph::{Graph, ValueId};
use proptest::prelude::*;

use super::{Tolerance, compare, numbers};

/// A random operator to append, with random choices among the existing values.
#[derive(Debug, Clone, Copy)]
struct Choice {
    kind: u8,
    first: usize,
    second: usize,
    number: usize,
}

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let choice = (0u8..16, 0usize..100, 0usize..100, 0usize..100);
    let choice = choice.prop_map(|(kind, first, second, number)| Choice { kind, first, second, number });
    prop::collection::vec(choice, 4..24)
}

/// Appends the chosen operator, if it fits the shapes.
fn append(graph: &mut Graph, values: &[ValueId], choice: Choice) -> Result<ValueId, ShapeError> {
    let Choice { kind, first, second, number } = choice;
    let (a, b) = (values[first % values.len()], values[second % values.len()]);
    let shape = graph.shape(a).to_vec();
    let axis = number % shape.len().max(1);
    match kind {
        0 => graph.element(ElementOp::Tanh, &[a]),
        1 => graph.element(ElementOp::Sigmoid, &[a]),
        2 | 3 => graph.element(ElementOp::Add, &[a, b]),
        4 => graph.element(ElementOp::Multiply, &[a, b]),
        5 => graph.element(ElementOp::Maximum, &[a, b]),
        6 if !shape.is_empty() => Ok(graph.reduce(Reduction::Sum, a, &[axis])),
        7 if !shape.is_empty() => Ok(graph.reduce(Reduction::Maximum, a, &[shape.len() - 1])),
        8 => graph.transpose(a, &(0..shape.len()).rev().collect::<Vec<_>>()),
        9 if !shape.is_empty() && shape[axis] > 1 => {
            graph.slice_axis(a, axis, number % shape[axis], shape[axis] - number % shape[axis])
        }
        10 if !shape.is_empty() => graph.concat(&[a, a], axis),
        11 => graph.reshape(a, &[volume(&shape)]),
        12 if shape.len() >= 2 => graph.matmul(a, a, false, true),
        13 if shape.len() >= 2 => softmax(graph, a),
        14 if shape.len() == 4 && shape[2] > 1 && shape[3] > 1 => {
            let window = Window { kernel: [2, 2], strides: [2, 2], dilations: [1, 1], pads: [0, 0] };
            let output = [shape[0], shape[1], shape[2] / 2, shape[3] / 2];
            Ok(graph.pool(Op::MaxPool { window }, &[a], &output))
        }
        15 if !shape.is_empty() => {
            let positions = graph
                .add_constant(&[3], [0, number, number / 2].map(|at| (at % shape[axis]) as f64).to_vec());
            Ok(graph.gather(a, positions, axis))
        }
        _ => Err(ShapeError::new("this choice", &[&shape])),
    }
}

fn softmax(graph: &mut Graph, x: ValueId) -> Result<ValueId, ShapeError> {
    let axis = graph.shape(x).len() - 1;
    let largest = graph.reduce(Reduction::Maximum, x, &[axis]);
    let shifted = graph.element(ElementOp::Subtract, &[x, largest])?;
    let exponential = graph.element(ElementOp::Exponential, &[shifted])?;
    let sum = graph.reduce(Reduction::Sum, exponential, &[axis]);
    graph.element(ElementOp::Divide, &[exponential, sum])
}

/// Keeps numbers near 1, so that products of products do not grow.
fn bounded(graph: &mut Graph, value: ValueId) -> ValueId {
    graph.element(ElementOp::Tanh, &[value]).expect("one shape always fits")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_graph(choices in choices(), rows in 1usize..6, width in 1usize..40) {
        let mut graph = Graph::default();
        let shapes = [vec![rows, width], vec![width], vec![2, 3, 5, 4], vec![rows, 1]];
        let mut values: Vec<ValueId> = shapes.iter().map(|shape| graph.add_input(shape)).collect();
        for choice in choices {
            let Ok(value) = append(&mut graph, &values, choice) else { continue };
            if volume(graph.shape(value)) > 20_000 {
                continue;
            }
            let value = if choice.kind == 12 || choice.kind == 6 { bounded(&mut graph, value) } else { value };
            values.push(value);
        }
        let inputs: Vec<Vec<f32>> = shapes.iter().zip(1..).map(|(shape, seed)| numbers(volume(shape), seed)).collect();
        let inputs: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
        let computed = values.iter().skip(shapes.len());
        // Other values are only read by nodes, so they may be fused away.
        let outputs: Vec<ValueId> = computed.rev().step_by(2).take(4).copied().collect();
        compare(&graph, &outputs, &inputs, Tolerance { relative: 1e-4, absolute: 1e-5 });
    }
}
