//! Gradients against central finite differences in double precision.

use candle_core::{DType, Tensor};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::differentiate;
use crate::cpu::{Executor, Feeds, tensor};
use crate::graph::{Constant, Dim, Graph, Op, Shape, ValueId};

/// Half the distance between the two points of a central difference.
const STEP: f64 = 1e-5;
/// The error allowed between a gradient and its finite difference, relative to 1 or the gradient.
const TOLERANCE: f64 = 1e-6;

/// Fixed, so that no run meets the kink of a Relu by chance.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 48, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Default::default() }
}

fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    f64::from(rng.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0
}

fn random_elements(rng: &mut ChaCha20Rng, dims: &[usize]) -> Vec<f64> {
    (0..dims.iter().product()).map(|_| uniform(rng)).collect()
}

/// Ends the graph with a loss and compares every element of every gradient with its finite difference.
fn check(mut graph: Graph, output: ValueId, batch: usize, classes: bool, seed: u64) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let output_dims = graph.shape(output).resolve(batch);
    let labels_shape = graph.shape(output).example_shape().unwrap();
    let (labels_id, labels, loss, loss_gradient) = if classes {
        let numbers = (0..batch).map(|_| rng.next_u32() % output_dims[1] as u32).collect::<Vec<u32>>();
        let labels = tensor(numbers, &[batch]).unwrap();
        (graph.add_labels(&[]), labels, Op::SoftmaxCrossEntropy, Op::SoftmaxCrossEntropyGradient)
    } else {
        let labels = tensor(random_elements(&mut rng, &output_dims), &output_dims).unwrap();
        (graph.add_labels(&labels_shape), labels, Op::MeanSquaredError, Op::MeanSquaredErrorGradient)
    };
    let features_dims = graph.values[0].shape.resolve(batch);
    let features = tensor(random_elements(&mut rng, &features_dims), &features_dims).unwrap();
    let feeds = Feeds { features, labels: Some(labels) };
    let mut parameters: Vec<(Vec<f64>, Vec<usize>)> = Vec::new();
    for id in &graph.parameters {
        let dims = graph.shape(*id).resolve(batch);
        parameters.push((random_elements(&mut rng, &dims), dims));
    }

    let differentiated = differentiate(graph, output, labels_id, loss, loss_gradient).unwrap();
    let gradient_ids: Vec<ValueId> = differentiated.gradients.iter().map(|id| id.unwrap()).collect();
    let gradients = Executor::new(differentiated.graph.clone(), gradient_ids, DType::F64).unwrap();
    let gradients = gradients.run(&tensors(&parameters), &feeds).unwrap();
    let loss = Executor::new(differentiated.graph, vec![differentiated.loss], DType::F64).unwrap();
    let loss_at = |parameters: &[(Vec<f64>, Vec<usize>)]| {
        loss.run(&tensors(parameters), &feeds).unwrap()[0].to_scalar::<f64>().unwrap()
    };

    for (index, gradient) in gradients.iter().enumerate() {
        assert_eq!(gradient.dims(), parameters[index].1);
        let gradient = gradient.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        for (element, gradient) in gradient.into_iter().enumerate() {
            let middle = parameters[index].0[element];
            parameters[index].0[element] = middle + STEP;
            let above = loss_at(&parameters);
            parameters[index].0[element] = middle - STEP;
            let below = loss_at(&parameters);
            parameters[index].0[element] = middle;
            let difference = (above - below) / (2.0 * STEP);
            assert!(
                (gradient - difference).abs() <= TOLERANCE * gradient.abs().max(1.0),
                "parameter {index}, element {element}: gradient {gradient}, finite difference {difference}"
            );
        }
    }
}

fn tensors(parameters: &[(Vec<f64>, Vec<usize>)]) -> Vec<Tensor> {
    parameters.iter().map(|(elements, dims)| tensor(elements.clone(), dims).unwrap()).collect()
}

fn activation(choice: usize) -> Op {
    [Op::Relu, Op::Sigmoid, Op::Tanh][choice % 3].clone()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn dense_layers(
        batch in 1usize..5, width in 1usize..5, hidden in 1usize..5, classes in 2usize..5,
        transpose in any::<bool>(), alpha in -2.0f32..2.0, beta in -2.0f32..2.0, choice in 0usize..3,
        cross_entropy in any::<bool>(), seed in any::<u64>(),
    ) {
        let mut graph = Graph::default();
        let x = graph.add_features(&[width]);
        let dims = if transpose { [hidden, width] } else { [width, hidden] };
        let (w1, b1) = (graph.add_parameter(&dims), graph.add_parameter(&[hidden]));
        let (w2, b2) = (graph.add_parameter(&[hidden, classes]), graph.add_parameter(&[1, classes]));
        let gemm = Op::Gemm { alpha, beta, transpose_a: false, transpose_b: transpose };
        let y = graph.add_node(gemm, vec![x, w1, b1]).unwrap();
        let y = graph.add_node(activation(choice), vec![y]).unwrap();
        let y = graph.add_node(Op::MatMul, vec![y, w2]).unwrap();
        let y = graph.add_node(Op::Add, vec![y, b2]).unwrap();
        check(graph, y, batch, cross_entropy, seed);
    }

    #[test]
    fn a_transposed_left_operand(
        batch in 1usize..4, width in 1usize..5, outputs in 1usize..5, transpose in any::<bool>(), seed in any::<u64>(),
    ) {
        // `a` is [inner, outer] and is used transposed, so both operands of the first product are parameters.
        let mut graph = Graph::default();
        let x = graph.add_features(&[width]);
        let a = graph.add_parameter(&[3, width]);
        let dims = if transpose { [outputs, 3] } else { [3, outputs] };
        let b = graph.add_parameter(&dims);
        let gemm = Op::Gemm { alpha: 0.5, beta: 1.0, transpose_a: true, transpose_b: transpose };
        let product = graph.add_node(gemm, vec![a, b]).unwrap();
        let y = graph.add_node(Op::MatMul, vec![x, product]).unwrap();
        check(graph, y, batch, false, seed);
    }

    #[test]
    fn elementwise_with_broadcasting(
        batch in 1usize..4, rows in 1usize..4, columns in 1usize..4, scalar in any::<bool>(), choice in 0usize..3,
        seed in any::<u64>(),
    ) {
        let mut graph = Graph::default();
        let x = graph.add_features(&[rows, columns]);
        let factor = graph.add_parameter(&[1, columns][if scalar { 2 } else { 0 }..]);
        let offset = graph.add_parameter(&[rows, 1]);
        let frozen = graph.add_constant(Constant { dims: vec![1], elements: vec![0.25] });
        let y = graph.add_node(Op::Mul, vec![x, factor]).unwrap();
        let y = graph.add_node(Op::Sub, vec![y, offset]).unwrap();
        let squared = graph.add_node(Op::Mul, vec![y, y]).unwrap();
        let y = graph.add_node(Op::Sub, vec![offset, squared]).unwrap();
        let y = graph.add_node(Op::Mul, vec![y, frozen]).unwrap();
        let y = graph.add_node(activation(choice), vec![y]).unwrap();
        let flat = Shape(vec![Dim::Batch(1), Dim::Fixed(rows * columns)]);
        let y = graph.add_node(Op::Reshape { shape: flat }, vec![y]).unwrap();
        check(graph, y, batch, false, seed);
    }
}
