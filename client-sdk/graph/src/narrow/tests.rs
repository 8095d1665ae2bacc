use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::*;
use crate::op::{ElementOp, Reduction, Window};
use crate::program::Program;
use crate::random::standard_normal;

/// A graph with parameters of these shapes.
struct Built {
    graph: Graph,
    parameters: Vec<ValueId>,
}

fn built(shapes: &[&[usize]]) -> Built {
    let mut graph = Graph::default();
    let parameters =
        shapes.iter().enumerate().map(|(index, shape)| graph.add_parameter(index, shape)).collect();
    Built { graph, parameters }
}

fn shapes(graph: &Graph, parameters: usize) -> Vec<Vec<usize>> {
    (0..parameters).map(|index| graph.parameter_shape(index).unwrap().to_vec()).collect()
}

fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    (0..count).map(|_| standard_normal(&mut rng)).collect()
}

fn run(graph: &Graph, output: ValueId, weights: &[Vec<f64>], input: &[f64]) -> Vec<f64> {
    let mut start = 0;
    let ranges: Vec<_> = weights
        .iter()
        .map(|weights| {
            start += weights.len();
            start - weights.len()..start
        })
        .collect();
    let mut program = Program::<f64>::compile(graph, &[output], &ranges).unwrap();
    program.run(&weights.concat(), &[input], 0);
    program.output(0).to_vec()
}

/// Compares the narrow graph with the whole one, whose weights are 0 outside of the leading parts.
fn expect_equal(one: &Built, output: ValueId, input: usize, share: f64) {
    let narrow = one.graph.narrowed(&[output], &[], &ParameterAxes::new(), share);
    let mut whole = Vec::new();
    let mut parts = Vec::new();
    for (index, parameter) in one.parameters.iter().enumerate() {
        let (shape, part) = (one.graph.shape(*parameter), narrow.parameter_shape(index).unwrap());
        let weights = numbers(volume(shape), index as u64);
        let mut masked = vec![0.0; weights.len()];
        leading_ranges(shape, part, |range| masked[range.clone()].copy_from_slice(&weights[range]));
        parts.push(leading(shape, &weights, part));
        whole.push(masked);
    }
    let input = numbers(input, 99);
    let (expected, found) = (run(&one.graph, output, &whole, &input), run(&narrow, output, &parts, &input));
    assert_eq!(expected.len(), found.len());
    for (expected, found) in expected.iter().zip(&found) {
        assert!((expected - found).abs() < 1e-12, "{expected} and {found}");
    }
}

#[test]
fn a_narrow_network_is_the_whole_one_without_the_last_units() {
    let mut one = built(&[&[6, 3, 3, 3], &[6], &[8, 6 * 4 * 4], &[8], &[2, 8]]);
    let (graph, w) = (&mut one.graph, &one.parameters);
    let x = graph.add_input(&[5, 3, 4, 4]);
    let window = Window { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1, 1] };
    let convolved = graph.conv(x, w[0], window, [1, 1], 1).unwrap();
    let bias = graph.reshape(w[1], &[1, 6, 1, 1]).unwrap();
    let sum = graph.element(ElementOp::Add, &[convolved, bias]).unwrap();
    let active = graph.element(ElementOp::Relu, &[sum]).unwrap();
    let flat = graph.reshape(active, &[5, 96]).unwrap();
    let hidden = graph.matmul(flat, w[2], false, true).unwrap();
    let hidden = graph.element(ElementOp::Add, &[hidden, w[3]]).unwrap();
    let hidden = graph.element(ElementOp::Tanh, &[hidden]).unwrap();
    let output = graph.matmul(hidden, w[4], false, true).unwrap();
    let narrow = one.graph.narrowed(&[output], &[], &ParameterAxes::new(), 0.5);
    let expected = [vec![3, 3, 3, 3], vec![3], vec![4, 3 * 16], vec![4], vec![2, 4]];
    assert_eq!(shapes(&narrow, 5), expected);
    for share in [0.2, 0.5, 0.8, 1.0] {
        expect_equal(&one, output, 5 * 3 * 4 * 4, share);
    }
}

#[test]
fn channels_of_a_depthwise_convolution_and_of_a_shortcut_shrink_together() {
    let mut one = built(&[&[4, 2, 1, 1], &[8, 1, 3, 3], &[4, 8, 1, 1], &[4], &[3, 4]]);
    let (graph, w) = (&mut one.graph, &one.parameters);
    let x = graph.add_input(&[2, 2, 3, 3]);
    let point = Window { kernel: [1, 1], strides: [1, 1], dilations: [1, 1], pads: [0, 0] };
    let window = Window { kernel: [3, 3], pads: [1, 1], ..point };
    let first = graph.conv(x, w[0], point, [0, 0], 1).unwrap();
    let deep = graph.conv(first, w[1], window, [1, 1], 4).unwrap();
    let last = graph.conv(deep, w[2], point, [0, 0], 1).unwrap();
    let scale = graph.reshape(w[3], &[4, 1, 1]).unwrap();
    let last = graph.element(ElementOp::Multiply, &[last, scale]).unwrap();
    let sum = graph.element(ElementOp::Add, &[first, last]).unwrap();
    let pooled = graph.mean(sum, &[2, 3]).unwrap();
    let pooled = graph.reshape(pooled, &[2, 4]).unwrap();
    let output = graph.matmul(pooled, w[4], false, true).unwrap();
    let narrow = one.graph.narrowed(&[output], &[], &ParameterAxes::new(), 0.5);
    assert_eq!(
        shapes(&narrow, 5),
        [vec![2, 2, 1, 1], vec![4, 1, 3, 3], vec![2, 4, 1, 1], vec![2], vec![3, 2]]
    );
    for share in [0.25, 0.5, 0.75] {
        expect_equal(&one, output, 2 * 2 * 9, share);
    }
}

/// Queries, keys and values of two heads with 3 units each, over 4 positions.
#[test]
fn attention_loses_heads_and_a_normalized_sum_keeps_its_size() {
    let mut one = built(&[&[6, 6], &[6, 6], &[6, 6], &[6, 6], &[10, 6], &[6, 10]]);
    let (graph, w) = (&mut one.graph, &one.parameters);
    let x = graph.add_input(&[2, 4, 6]);
    let heads = |graph: &mut Graph, weight| {
        let all = graph.matmul(x, weight, false, true).unwrap();
        let split = graph.reshape(all, &[2, 4, 2, 3]).unwrap();
        graph.transpose(split, &[0, 2, 1, 3]).unwrap()
    };
    let [queries, keys, values] = [0, 1, 2].map(|index| heads(graph, w[index]));
    let scores = graph.matmul(queries, keys, false, true).unwrap();
    let largest = graph.reduce(Reduction::Maximum, scores, &[3]);
    let scores = graph.element(ElementOp::Subtract, &[scores, largest]).unwrap();
    let mixed = graph.matmul(scores, values, false, false).unwrap();
    let mixed = graph.transpose(mixed, &[0, 2, 1, 3]).unwrap();
    let mixed = graph.reshape(mixed, &[8, 6]).unwrap();
    let mixed = graph.matmul(mixed, w[3], false, true).unwrap();
    let mean = graph.mean(mixed, &[1]).unwrap();
    let normal = graph.element(ElementOp::Subtract, &[mixed, mean]).unwrap();
    let hidden = graph.matmul(normal, w[4], false, true).unwrap();
    let hidden = graph.element(ElementOp::Relu, &[hidden]).unwrap();
    let output = graph.matmul(hidden, w[5], false, true).unwrap();
    let narrow = one.graph.narrowed(&[output], &[], &ParameterAxes::new(), 0.5);
    let expected = [vec![3, 6], vec![3, 6], vec![3, 6], vec![6, 3], vec![5, 6], vec![6, 5]];
    assert_eq!(shapes(&narrow, 6), expected);
    expect_equal(&one, output, 48, 0.5);
}

#[test]
fn what_is_sliced_concatenated_or_looked_up_keeps_its_size() {
    let mut one = built(&[&[4, 3], &[4, 3], &[9, 4], &[5, 8], &[8, 2]]);
    let (graph, w) = (&mut one.graph, &one.parameters);
    let x = graph.add_input(&[2, 3]);
    let [one_hidden, other] = [0, 1].map(|index| graph.matmul(x, w[index], false, true).unwrap());
    let joined = graph.concat(&[one_hidden, other], 1).unwrap();
    let positions = graph.add_constant(&[2], vec![7.0, 0.0]);
    let rows = graph.gather(w[2], positions, 0);
    let part = graph.slice_axis(joined, 1, 2, 4).unwrap();
    let sum = graph.element(ElementOp::Add, &[rows, part]).unwrap();
    let wide = graph.concat(&[sum, one_hidden], 1).unwrap();
    let hidden = graph.matmul(wide, w[3], false, true).unwrap();
    let shifted = graph.unslice(hidden, &[0, 1], &[1, 1], &[2, 8]).unwrap();
    let output = graph.matmul(shifted, w[4], false, false).unwrap();
    let narrow = one.graph.narrowed(&[output], &[], &ParameterAxes::new(), 0.5);
    assert_eq!(shapes(&narrow, 5), shapes(&one.graph, 5));
}

#[test]
fn a_statistic_and_a_constant_shrink_with_their_layer() {
    let mut one = built(&[&[4, 3], &[4], &[2, 4]]);
    let (graph, w) = (&mut one.graph, &one.parameters);
    let x = graph.add_input(&[2, 3]);
    let hidden = graph.matmul(x, w[0], false, true).unwrap();
    let factors = graph.add_constant(&[4], vec![1.0, 2.0, 3.0, 4.0]);
    let hidden = graph.element(ElementOp::Multiply, &[hidden, factors]).unwrap();
    let mean = graph.mean(hidden, &[0]).unwrap();
    let update = graph.reshape(mean, &[4]).unwrap();
    let output = graph.matmul(hidden, w[2], false, true).unwrap();
    let narrow = one.graph.narrowed(&[output], &[(1, update)], &ParameterAxes::new(), 0.5);
    assert_eq!(shapes(&narrow, 3), [vec![2, 3], vec![2], vec![2, 2]]);
    assert_eq!(narrow.constants[0], [1.0, 2.0]);
    expect_equal(&one, output, 6, 0.5);
}

/// Three units of two layers are multiplied with each other, and no weight reads them: without two of them, the output would lack
/// their 0.25.
#[test]
fn units_that_no_weight_reads_keep_their_number() {
    let mut one = built(&[&[3, 2], &[3, 2]]);
    let (graph, w) = (&mut one.graph, &one.parameters);
    let x = graph.add_input(&[4, 2]);
    let [u, v] = [0, 1].map(|index| {
        let sum = graph.matmul(x, w[index], false, true).unwrap();
        graph.element(ElementOp::Sigmoid, &[sum]).unwrap()
    });
    let (u, v) = (graph.reshape(u, &[4, 1, 3]).unwrap(), graph.reshape(v, &[4, 3, 1]).unwrap());
    let output = graph.matmul(u, v, false, false).unwrap();
    let narrow = one.graph.narrowed(&[output], &[], &ParameterAxes::new(), 0.4);
    assert_eq!(shapes(&narrow, 2), shapes(&one.graph, 2));
}

/// A feature with six categories becomes six inputs of a layer.
#[test]
fn categories_keep_their_number() {
    let mut one = built(&[&[4, 6], &[2, 4]]);
    let (graph, w) = (&mut one.graph, &one.parameters);
    let x = graph.add_input(&[5, 1]);
    let categories = graph.add_constant(&[6], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let one_hot = graph.element(ElementOp::Equal, &[x, categories]).unwrap();
    let hidden = graph.matmul(one_hot, w[0], false, true).unwrap();
    let output = graph.matmul(hidden, w[1], false, true).unwrap();
    let narrow = one.graph.narrowed(&[output], &[], &ParameterAxes::new(), 0.5);
    assert_eq!(shapes(&narrow, 2), [vec![2, 6], vec![2, 2]]);
    expect_equal(&one, output, 5, 0.5);
}

/// A graph for one example says less than one for two: channels and batch are merged in the second one only.
#[test]
fn axes_that_are_fixed_elsewhere_stay_fixed() {
    let built_for = |batch: usize| {
        let mut one = built(&[&[6, 1, 1, 3], &[8, 5], &[2, 6 * 5]]);
        let (graph, w) = (&mut one.graph, &one.parameters);
        let x = graph.add_input(&[batch, 1, 1, 10]);
        let window = Window { kernel: [1, 3], strides: [1, 1], dilations: [1, 1], pads: [0, 0] };
        let convolved = graph.conv(x, w[0], window, [0, 0], 1).unwrap();
        let rows = graph.reshape(convolved, &[batch * 6, 8]).unwrap();
        let mixed = graph.matmul(rows, w[1], false, false).unwrap();
        let flat = graph.reshape(mixed, &[batch, 30]).unwrap();
        let output = graph.matmul(flat, w[2], false, true).unwrap();
        (one, output)
    };
    let (two, output) = built_for(2);
    let none = ParameterAxes::new();
    let fixed = two.graph.fixed_axes(&[output], &[], &none);
    assert!(fixed.contains(&(0, 0)));
    let (one, output_of_one) = built_for(1);
    let found = |fixed: &ParameterAxes| {
        one.graph.narrow_parameters(&[output_of_one], &[], fixed, &[0.5])[0][&0].clone()
    };
    assert_eq!((found(&none), found(&fixed)), (vec![3, 1, 1, 3], vec![6, 1, 1, 3]));
    let narrow = one.graph.narrowed(&[output_of_one], &[], &fixed, 0.5);
    assert_eq!(narrow.parameter_shape(0), Some(&[6, 1, 1, 3][..]));
}

#[test]
fn the_leading_part_is_the_first_elements_of_each_axis() {
    let elements: Vec<usize> = (0..24).collect();
    assert_eq!(leading(&[2, 3, 4], &elements, &[2, 2, 3]), [0, 1, 2, 4, 5, 6, 12, 13, 14, 16, 17, 18]);
    assert_eq!(leading(&[24], &elements, &[2]), [0, 1]);
    assert_eq!(leading(&[], &[7], &[]), [7]);
    assert_eq!(leading(&[2, 3, 4], &elements, &[2, 3, 4]), elements);
}
