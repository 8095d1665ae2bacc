//! Convolutions and pooling, over sizes, strides, dilation, padding and groups.

use super::*;

/// Kernel, strides, dilations, padding before, padding after; each for height and width.
type Geometry = ([usize; 2], [usize; 2], [usize; 2], [usize; 2], [usize; 2]);

fn geometry() -> impl Strategy<Value = Geometry> {
    let pair = |range: std::ops::Range<usize>| [range.clone(), range];
    (pair(1..4), pair(1..3), pair(1..3), pair(0..2), pair(0..2))
}

fn window((kernel, strides, dilations, pads, _): Geometry) -> Window {
    Window { kernel, strides, dilations, pads }
}

/// Returns the size of an input that fits the window, with `extra` more positions.
fn plane(window: &Window, extra: [usize; 2]) -> [usize; 2] {
    [window.span(0) + extra[0], window.span(1) + extra[1]]
}

fn output(window: &Window, plane: [usize; 2], end: [usize; 2]) -> [usize; 2] {
    [0, 1].map(|axis| window.positions(axis, plane[axis] + window.pads[axis] + end[axis]).unwrap())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn convolutions(
        geometry in geometry(), extra in [0usize..4, 0usize..4], images in 1usize..3, per_group in (1usize..3, 1usize..3),
        groups in 1usize..4, seed in any::<u64>(),
    ) {
        let window = window(geometry);
        let [height, width] = plane(&window, extra);
        let input = [images, per_group.0 * groups, height, width];
        let filter = [per_group.1 * groups, per_group.0, window.kernel[0], window.kernel[1]];
        check(&[&input, &filter], seed, |graph, p| graph.conv(p[0], p[1], window, geometry.4, groups).unwrap());
    }

    #[test]
    fn transposed_convolutions(
        geometry in geometry(), extra in [0usize..3, 0usize..3], channels in (1usize..3, 1usize..3), groups in 1usize..3,
        seed in any::<u64>(),
    ) {
        let window = window(geometry);
        let [height, width] = plane(&window, extra);
        let [rows, columns] = output(&window, [height, width], geometry.4);
        let filter = [channels.1 * groups, channels.0, window.kernel[0], window.kernel[1]];
        check(&[&[2, channels.1 * groups, rows, columns], &filter], seed, |graph, p| {
            graph.conv_input_gradient(p[0], p[1], window, groups, &[2, channels.0 * groups, height, width])
        });
    }

    #[test]
    fn pooling(geometry in geometry(), extra in [0usize..4, 0usize..4], kind in 0usize..3, seed in any::<u64>()) {
        let mut window = window(geometry);
        // Limits the padding so that no window lies wholly inside it.
        window.pads = [0, 1].map(|axis| window.pads[axis].min((window.kernel[axis] - 1) / 2));
        let end = [0, 1].map(|axis| geometry.4[axis].min((window.kernel[axis] - 1) / 2));
        let [height, width] = plane(&window, extra);
        let [rows, columns] = output(&window, [height, width], end);
        let op = match kind {
            0 => Op::MaxPool { window },
            1 => Op::AveragePool { window, counted_padding: None },
            _ => Op::AveragePool { window, counted_padding: Some(end) },
        };
        check(&[&[2, 2, height, width]], seed, |graph, p| graph.pool(op, &[p[0]], &[2, 2, rows, columns]));
    }
}

/// On a tie in a window, the whole gradient goes to the first maximum. (candle 0.11.1 instead multiplies the gradient
/// by the number of maxima over the window's size.)
#[test]
fn a_tie_in_a_window_keeps_the_gradient() {
    let window = Window { kernel: [2, 2], strides: [2, 2], dilations: [1, 1], pads: [0, 0] };
    let mut graph = Graph::default();
    let x = graph.add_parameter(0, &[1, 1, 2, 4]);
    let pooled = graph.pool(Op::MaxPool { window }, &[x], &[1, 1, 1, 2]);
    let loss = graph.reduce(Reduction::Sum, pooled, &[0, 1, 2, 3]);
    let gradient = gradients(&mut graph, loss, &[x]).unwrap()[0].unwrap();
    let mut program = Program::<f32>::compile(&graph, &[gradient], std::slice::from_ref(&(0..8))).unwrap();
    program.run(&[3.0, 3.0, 1.0, 5.0, 3.0, 3.0, 5.0, 2.0], &[], 0);
    assert_eq!(program.output(0), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
}
