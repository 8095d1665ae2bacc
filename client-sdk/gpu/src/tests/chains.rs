//! Elementwise operators, views, and their fusion.

use folkmoot_graph::Graph;
use folkmoot_graph::op::ElementOp;

use super::{Tolerance, compare, numbers};

/// Returns the operators with this number of inputs.
fn operations(arity: usize) -> impl Iterator<Item = ElementOp> {
    ElementOp::ALL.into_iter().filter(move |op| op.arity() == arity)
}

/// Returns ordinary numbers, and those where functions are undefined or have kinks.
fn inputs(count: usize, seed: u32) -> Vec<f32> {
    let special = [0.0, -0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 88.0, -90.0, 1e-20, 3e5];
    special.into_iter().chain(numbers(count, seed)).collect()
}

#[test]
fn functions_of_one_number() {
    let x = inputs(1000, 1);
    for op in operations(1) {
        println!("{op:?}");
        let mut graph = Graph::default();
        let input = graph.add_input(&[x.len()]);
        let output = graph.element(op, &[input]).expect("the shapes fit");
        compare_each(&graph, output, &[&x]);
    }
}

#[test]
fn functions_of_two_numbers() {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in inputs(30, 2) {
        for y in inputs(30, 3) {
            a.push(x);
            b.push(y);
        }
    }
    for op in operations(2) {
        println!("{op:?}");
        let mut graph = Graph::default();
        let inputs = [graph.add_input(&[a.len()]), graph.add_input(&[b.len()])];
        let output = graph.element(op, &inputs).expect("the shapes fit");
        compare_each(&graph, output, &[&a, &b]);
    }
}

/// Compares element by element, each relative to its own magnitude: large results must not hide errors in small ones.
fn compare_each(graph: &Graph, output: folkmoot_graph::ValueId, inputs: &[&[f32]]) {
    let Some(gpu) = super::gpu() else { return };
    let mut twin = folkmoot_graph::program::Program::<f32>::compile(graph, &[output], &[]).expect("it fits");
    twin.run(&[], inputs, 7);
    let found = super::on_gpu(gpu, graph, &[output], inputs);
    for (index, (found, expected)) in found[0].iter().zip(twin.output(0)).enumerate() {
        let of: Vec<f32> = inputs.iter().map(|input| input[index]).collect();
        let same = found == expected || (found.is_nan() && expected.is_nan());
        // Subnormal numbers may be flushed to 0.
        let close = (found - expected).abs() <= 3e-6 * expected.abs() + 1.2e-38;
        assert!(same || close, "of {of:?} it is {found}, not {expected}");
    }
}

#[test]
fn views_of_views() {
    let mut graph = Graph::default();
    let x = graph.add_input(&[4, 5, 6]);
    let b = graph.add_input(&[5]);
    let transposed = graph.transpose(x, &[2, 0, 1]).expect("it fits");
    let sliced = graph.slice(transposed, &[5, 1, 0], &[-2, 1, 2], &[3, 2, 3]).expect("it fits");
    let flat = graph.reshape(sliced, &[18]).expect("it fits");
    let wide = graph.broadcast_to(flat, &[4, 18]).expect("it fits");
    let sum = graph.element(ElementOp::Add, &[wide, flat]).expect("it fits");
    let biased = graph.element(ElementOp::Multiply, &[transposed, b]).expect("it fits");
    let (numbers, bias) = (numbers(120, 4), numbers(5, 5));
    compare(&graph, &[sum, biased, flat, wide, transposed], &[&numbers, &bias], Tolerance::EXACT);
}

#[test]
fn nothing_one_and_many() {
    for shape in [vec![0], vec![1], vec![], vec![3, 0, 2], vec![257], vec![70_000, 300]] {
        let mut graph = Graph::default();
        let x = graph.add_input(&shape);
        let doubled = graph.element(ElementOp::Add, &[x, x]).expect("it fits");
        let less = graph.element_with(ElementOp::Subtract, doubled, 1.5).expect("it fits");
        let count = shape.iter().product();
        compare(&graph, &[less], &[&numbers(count, 6)], Tolerance::EXACT);
    }
}
