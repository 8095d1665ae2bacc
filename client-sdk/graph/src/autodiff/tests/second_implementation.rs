//! Compares gradients with candle's autograd, except where candle is wrong.

use candle_core::{DType, Device, Tensor, Var};

use super::*;

/// Builds the same loss here and in candle from the same numbers, and compares all gradients.
fn compare(
    shapes: &[&[usize]],
    own: impl FnOnce(&mut Graph, &[ValueId]) -> ValueId,
    candle: impl FnOnce(&[Var]) -> candle_core::Result<Tensor>,
) {
    let mut graph = Graph::default();
    let parameters: Vec<ValueId> =
        shapes.iter().enumerate().map(|(index, shape)| graph.add_parameter(index, shape)).collect();
    let output = own(&mut graph, &parameters);
    let squared = graph.element(ElementOp::Multiply, &[output, output]).unwrap();
    let axes: Vec<usize> = (0..graph.shape(output).len()).collect();
    let loss = graph.reduce(Reduction::Sum, squared, &axes);
    let wanted = gradients(&mut graph, loss, &parameters).unwrap();
    let wanted: Vec<ValueId> = wanted.into_iter().map(Option::unwrap).collect();
    let (mut numbers, mut ranges) = (Vec::new(), Vec::new());
    for (index, shape) in shapes.iter().enumerate() {
        ranges.push(numbers.len()..numbers.len() + volume(shape));
        numbers.extend(spread(volume(shape), 77 + index as u64));
    }
    let mut program = Program::<f64>::compile(&graph, &wanted, &ranges).unwrap();
    program.run(&numbers, &[], 0);

    let tensor = |(range, shape): (&std::ops::Range<usize>, &&[usize])| {
        Var::from_tensor(&Tensor::from_vec(numbers[range.clone()].to_vec(), *shape, &Device::Cpu).unwrap())
            .unwrap()
    };
    let vars: Vec<Var> = ranges.iter().zip(shapes).map(tensor).collect();
    let loss = candle(&vars).unwrap().sqr().unwrap().sum_all().unwrap();
    let store = loss.backward().unwrap();
    for (index, var) in vars.iter().enumerate() {
        let theirs = store.get(var).unwrap().flatten_all().unwrap().to_dtype(DType::F64).unwrap();
        for (own, theirs) in program.output(index).iter().zip(theirs.to_vec1::<f64>().unwrap()) {
            assert!(
                (own - theirs).abs() <= 1e-9 * own.abs().max(1.0),
                "parameter {index}: {own}, candle {theirs}"
            );
        }
    }
}

#[test]
fn convolutions_with_stride_dilation_and_groups() {
    for (stride, dilation, pad, groups) in
        [(1, 1, 0, 1), (2, 1, 1, 1), (1, 2, 2, 1), (1, 1, 1, 2), (2, 1, 0, 4)]
    {
        let window =
            Window { kernel: [3, 3], strides: [stride; 2], dilations: [dilation; 2], pads: [pad; 2] };
        compare(
            &[&[2, 4, 9, 7], &[4, 4 / groups, 3, 3]],
            |graph, p| graph.conv(p[0], p[1], window, [pad; 2], groups).unwrap(),
            |v| v[0].conv2d(&v[1], pad, stride, dilation, groups),
        );
    }
}

#[test]
fn average_pooling() {
    let window = Window { kernel: [2, 3], strides: [2, 3], dilations: [1, 1], pads: [0, 0] };
    compare(
        &[&[2, 3, 6, 9]],
        |graph, p| graph.pool(Op::AveragePool { window, counted_padding: None }, &[p[0]], &[2, 3, 3, 3]),
        |v| v[0].avg_pool2d((2, 3)),
    );
}

#[test]
fn a_dense_network() {
    compare(
        &[&[5, 7], &[7, 6], &[6], &[6, 3]],
        |graph, p| {
            let y = graph.matmul(p[0], p[1], false, false).unwrap();
            let y = graph.element(ElementOp::Add, &[y, p[2]]).unwrap();
            let y = graph.element(ElementOp::Tanh, &[y]).unwrap();
            graph.matmul(y, p[3], false, false).unwrap()
        },
        |v| v[0].matmul(&v[1])?.broadcast_add(&v[2])?.tanh()?.matmul(&v[3]),
    );
}

/// Documents a bug in candle 0.11.1, which divides the gradient of max pooling by the window's size. A network with two
/// 2 x 2 pools therefore trains its first convolution on a sixteenth of the gradient. Our gradient agrees with finite
/// differences (`super::windows`). If this test fails, candle has fixed the bug: compare max pooling like the others.
#[test]
fn max_pooling_of_candle_is_wrong() {
    let x = Tensor::new(&[[[[1.0f64, 2.0], [3.0, 4.0]]]], &Device::Cpu).unwrap();
    let x = Var::from_tensor(&x).unwrap();
    let store = x.max_pool2d(2).unwrap().sum_all().unwrap().backward().unwrap();
    let gradient = store.get(&x).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap();
    assert_eq!(gradient, [0.0, 0.0, 0.0, 0.25], "it should be 1");
}
