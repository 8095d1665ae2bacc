//! Tensors larger than a kernel can bind at once.

use folkmoot_graph::op::{ElementOp, Op, Reduction, ShapeError, Window};
use folkmoot_graph::program::Program;
use folkmoot_graph::{Graph, ValueId};

use super::{Tolerance, gpu, numbers, on_gpu};
use crate::{Gpu, GpuError, once::Once};

/// Compares a graph whose tensors must be split with the CPU.
#[track_caller]
fn compare(gpu: &Gpu, graph: &Graph, outputs: &[ValueId], inputs: &[&[f32]], tolerance: Tolerance) {
    let mut twin: Program<f32> = Program::compile(graph, outputs, &[]).expect("the graph fits into memory");
    twin.run(&[], inputs, 7);
    for (index, found) in on_gpu(gpu, graph, outputs, inputs).iter().enumerate() {
        tolerance.check(found, twin.output(index));
    }
}

/// Appends one operator of each kind, over tensors with a few thousand elements.
fn operations(graph: &mut Graph) -> Result<(Vec<ValueId>, Vec<Vec<f32>>), ShapeError> {
    let window = Window { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1, 1] };
    let (image, filter) = (graph.add_input(&[2, 3, 20, 20]), graph.add_input(&[4, 3, 3, 3]));
    let (a, b) = (graph.add_input(&[50, 40]), graph.add_input(&[40, 45]));
    let positions = graph.add_input(&[30]);
    let convolved = graph.conv(image, filter, window, [1, 1], 1)?;
    let pooled = {
        let window = Window { kernel: [2, 2], strides: [2, 2], dilations: [1, 1], pads: [0, 0] };
        graph.pool(Op::MaxPool { window }, &[image], &[2, 3, 10, 10])
    };
    let outputs = vec![
        graph.matmul(a, b, false, false)?,
        convolved,
        graph.conv_filter_gradient(convolved, image, window, 1, &[4, 3, 3, 3]),
        pooled,
        graph.reduce(Reduction::Sum, image, &[0, 2]),
        graph.gather(a, positions, 0),
        graph.unslice(a, &[3, 2], &[1, 1], &[60, 50])?,
        graph.concat(&[a, a], 1)?,
        graph.transpose(a, &[1, 0])?,
        graph.element_with(ElementOp::Multiply, image, 3.0)?,
    ];
    let rows = (0..30).map(|index| (index * 7 % 50) as f32).collect();
    let inputs = vec![numbers(2400, 1), numbers(108, 2), numbers(2000, 3), numbers(1800, 4), rows];
    Ok((outputs, inputs))
}

#[test]
fn every_kind_of_kernel_reads_and_writes_split_tensors() {
    let Some(gpu) = gpu() else { return };
    let mut graph = Graph::default();
    let (outputs, inputs) = operations(&mut graph).expect("the shapes fit");
    let inputs: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
    // A part of 4,096 bytes holds 1,024 elements: up to three parts.
    for output in outputs {
        compare(&gpu.with_bindings_of(4096), &graph, &[output], &inputs, Tolerance::ROUNDING);
    }
}

#[test]
fn what_is_too_large_in_pieces_too_is_refused() {
    let Some(gpu) = gpu() else { return };
    let mut graph = Graph::default();
    let (a, b) = (graph.add_input(&[4000]), graph.add_input(&[4000]));
    let sum = graph.element(ElementOp::Add, &[a, b]).expect("the shapes fit");
    let result = Once::new(&gpu.with_bindings_of(4096), &graph, &[sum]);
    assert!(matches!(result.err(), Some(GpuError::TooLarge { .. })), "twelve parts are more than eight");
}

/// Larger than the 128 MiB that WebGPU guarantees, without an artificial limit.
#[test]
fn a_tensor_of_more_than_128_mib() {
    let Some(gpu) = gpu() else { return };
    let count = (128 << 20) / size_of::<f32>() + 5000;
    let mut graph = Graph::default();
    let x = graph.add_input(&[count]);
    let doubled = graph.element(ElementOp::Add, &[x, x]).expect("the shapes fit");
    let last = graph.slice(doubled, &[count - 6000], &[1], &[6000]).expect("it is inside");
    let largest = graph.reduce(Reduction::Maximum, doubled, &[0]);
    compare(gpu, &graph, &[last, largest], &[&numbers(count, 1)], Tolerance::EXACT);
}
