//! Matrix products and convolutions: shapes that do not divide any tile, and every tiling.

use folkmoot_graph::op::{Window, volume};
use folkmoot_graph::{Graph, ValueId};
use proptest::prelude::*;

use super::{Tolerance, compare, gpu, numbers};
use crate::Gpu;
use crate::tile::Tile;

/// Tolerance for sums of up to about ten thousand products.
const LONG_SUMS: Tolerance = Tolerance { relative: 1e-4, absolute: 1e-6 };

/// A graph of one operator over inputs, and the shapes of the inputs.
struct Case {
    graph: Graph,
    outputs: Vec<ValueId>,
    shapes: Vec<Vec<usize>>,
}

impl Case {
    fn elements(&self) -> Vec<Vec<f32>> {
        let shapes = self.shapes.iter().zip(1..);
        shapes.map(|(shape, seed)| numbers(volume(shape), seed)).collect()
    }

    #[track_caller]
    fn check(&self) {
        let elements = self.elements();
        let inputs: Vec<&[f32]> = elements.iter().map(Vec::as_slice).collect();
        compare(&self.graph, &self.outputs, &inputs, LONG_SUMS);
    }

    fn on(&self, gpu: &Gpu) -> Vec<Vec<f32>> {
        let elements = self.elements();
        let inputs: Vec<&[f32]> = elements.iter().map(Vec::as_slice).collect();
        super::on_gpu(gpu, &self.graph, &self.outputs, &inputs)
    }
}

/// Returns a product whose matrices are optionally stored transposed.
fn product(a_batch: &[usize], b_batch: &[usize], [m, k, n]: [usize; 3], transposed: [bool; 2]) -> Case {
    let shape = |batch: &[usize], matrix: [usize; 2], transposed: bool| {
        let [rows, columns] = matrix;
        [batch, &if transposed { [columns, rows] } else { [rows, columns] }].concat()
    };
    let shapes = vec![shape(a_batch, [m, k], transposed[0]), shape(b_batch, [k, n], transposed[1])];
    let mut graph = Graph::default();
    let (a, b) = (graph.add_input(&shapes[0]), graph.add_input(&shapes[1]));
    let output = graph.matmul(a, b, transposed[0], transposed[1]).expect("the matrices fit");
    Case { graph, outputs: vec![output], shapes }
}

/// Returns a convolution of `[N, C, H, W]` to this many channels, and both of its gradients.
fn convolution(
    input: [usize; 4],
    channels: usize,
    groups: usize,
    window: Window,
    end_pads: [usize; 2],
) -> Case {
    let filter = [channels, input[1] / groups, window.kernel[0], window.kernel[1]];
    let mut graph = Graph::default();
    let (x, weights) = (graph.add_input(&input), graph.add_input(&filter));
    let output = graph.conv(x, weights, window, end_pads, groups).expect("the window fits");
    let shape = graph.shape(output).to_vec();
    let gradient = graph.add_input(&shape);
    let of_input = graph.conv_input_gradient(gradient, weights, window, groups, &input);
    let of_filter = graph.conv_filter_gradient(gradient, x, window, groups, &filter);
    let shapes = vec![input.to_vec(), filter.to_vec(), shape];
    Case { graph, outputs: vec![output, of_input, of_filter], shapes }
}

fn window(kernel: usize, stride: usize, dilation: usize, pad: usize) -> Window {
    Window { kernel: [kernel; 2], strides: [stride; 2], dilations: [dilation; 2], pads: [pad; 2] }
}

#[test]
fn matrices_that_fit_no_tile() {
    let dims = [[1, 1, 1], [77, 45, 131], [130, 17, 129], [3, 600, 5], [10, 784, 200], [33, 16, 64]];
    for dims in dims {
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            println!("{dims:?} {transposed:?}");
            product(&[], &[], dims, transposed).check();
        }
    }
}

/// The CPU counterpart refuses these shapes.
#[test]
fn a_sum_of_nothing_is_0() {
    let Some(gpu) = gpu() else { return };
    let padding = window(2, 1, 1, 1);
    let cases = [
        product(&[], &[], [5, 0, 3], [false, false]),
        product(&[2], &[2], [5, 0, 3], [true, false]),
        convolution([2, 3, 0, 4], 5, 1, padding, [1, 1]),
        convolution([2, 3, 0, 4], 3, 3, padding, [1, 1]),
    ];
    for case in cases {
        assert!(case.on(gpu).iter().flatten().all(|element| *element == 0.0));
    }
}

#[test]
fn batches_repeat() {
    let batches: [(&[usize], &[usize]); 6] =
        [(&[4], &[4]), (&[5], &[]), (&[], &[5]), (&[3, 1], &[4]), (&[2, 1, 3], &[2, 4, 1]), (&[1], &[1, 1])];
    for (a, b) in batches {
        for transposed in [[false, false], [true, true]] {
            println!("{a:?} {b:?} {transposed:?}");
            product(a, b, [7, 9, 11], transposed).check();
        }
    }
}

#[test]
fn convolutions_of_every_kind() {
    let kinds = [
        ([2, 3, 9, 7], 5, 1, window(3, 1, 1, 0)),
        ([2, 3, 9, 7], 5, 1, window(3, 1, 1, 2)),
        ([1, 2, 3, 3], 2, 1, window(2, 1, 1, 4)),
        ([2, 4, 9, 8], 6, 2, window(3, 2, 1, 1)),
        ([2, 4, 11, 8], 6, 2, window(2, 3, 1, 1)),
        ([2, 4, 11, 12], 6, 2, window(3, 2, 2, 2)),
        ([2, 4, 11, 12], 6, 2, window(3, 3, 2, 2)),
        ([2, 4, 13, 12], 6, 2, window(3, 2, 3, 3)),
        ([2, 4, 7, 8], 6, 1, window(1, 2, 1, 0)),
        ([40, 3, 9, 7], 5, 1, window(3, 1, 1, 1)),
        ([1, 1, 1, 1], 1, 1, window(1, 1, 1, 0)),
    ];
    for (input, channels, groups, window) in kinds {
        println!("{input:?} to {channels} {window:?}");
        convolution(input, channels, groups, window, window.pads).check();
    }
}

#[test]
fn convolutions_of_single_channels() {
    let kinds = [
        ([3, 4, 9, 7], 4, window(3, 1, 1, 1)),
        ([3, 4, 9, 7], 8, window(3, 2, 1, 1)),
        ([3, 4, 9, 11], 8, window(3, 1, 2, 1)),
        ([3, 4, 9, 11], 8, window(3, 2, 2, 5)),
        ([3, 4, 9, 11], 8, window(2, 1, 1, 5)),
        ([70, 4, 13, 9], 4, window(3, 1, 1, 1)),
    ];
    for (input, channels, window) in kinds {
        println!("{input:?} to {channels} {window:?}");
        convolution(input, channels, input[1], window, window.pads).check();
    }
}

/// No tiling of a product may change a bit of its result.
#[test]
fn every_tile_gives_the_same_bytes() {
    let Some(shared) = gpu() else { return };
    let mut own = Gpu::find(Some(&shared.report().name)).expect("the adapter was there before");
    let cases = [
        product(&[], &[], [130, 70, 133], [false, false]),
        product(&[3], &[1], [45, 600, 33], [true, true]),
        convolution([4, 6, 19, 17], 10, 2, window(3, 2, 1, 1), [1, 0]),
    ];
    for case in &cases {
        let expected = case.on(shared);
        for tile in Tile::ALL {
            if own.set_tuning(tile.name()) {
                assert!(case.on(&own) == expected, "{} differs", tile.name());
            }
        }
    }
}

fn geometry() -> impl Strategy<Value = (Window, [usize; 2])> {
    let pair = |numbers: std::ops::Range<usize>| [numbers.clone(), numbers];
    (pair(1..4), pair(1..4), pair(1..3), pair(0..3), pair(0..3)).prop_map(
        |(kernel, strides, dilations, pads, end_pads)| {
            (Window { kernel, strides, dilations, pads }, end_pads)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_product(dims in [1..140usize, 1..300, 1..140], batch in 1..4usize, transposed in any::<[bool; 2]>()) {
        product(&[batch], &[batch], dims, transposed).check();
    }

    #[test]
    fn any_convolution(
        images in 1..5usize,
        group_channels in [1..4usize, 1..4],
        groups in 1..4usize,
        plane in [5..12usize, 5..12],
        (window, end_pads) in geometry(),
    ) {
        let input = [images, group_channels[0] * groups, plane[0], plane[1]];
        convolution(input, group_channels[1] * groups, groups, window, end_pads).check();
    }
}
