//! Compares every operator's gradient with central finite differences in double precision.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::gradients;
use crate::graph::{Graph, ValueId};
use crate::op::{ElementOp, Op, Reduction, Window, volume};
use crate::program::Program;

mod elementwise;
mod layout;
mod second_implementation;
mod windows;

/// Half the distance between the two points of a central difference.
const STEP: f64 = 1e-5;
/// The largest error between a gradient and its finite difference, relative to the gradient or to 1, whichever is
/// larger.
const TOLERANCE: f64 = 1e-6;

/// Uses a fixed seed, so that no run happens to hit a point without a derivative.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 40,
        rng_seed: RngSeed::Fixed(11),
        failure_persistence: None,
        ..Default::default()
    }
}

/// Returns numbers in [-1, 1] that differ from 0 and from each other by at least 1e-3, so that no finite-difference
/// step crosses a kink or a tie.
fn spread(count: usize, seed: u64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = seed | 1;
    for last in (1..count).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (state >> 33) as usize % (last + 1));
    }
    order
        .into_iter()
        .map(|rank| (rank as f64 + 0.5) / count as f64 * 2.0 - 1.0 + 0.137 / count as f64)
        .collect()
}

/// Builds a graph over parameters of these shapes and ends it with a weighted sum of the output. Compares every element
/// of every gradient with its finite difference.
fn check(shapes: &[&[usize]], seed: u64, build: impl FnOnce(&mut Graph, &[ValueId]) -> ValueId) {
    check_from(shapes, seed, |numbers| numbers, build);
}

/// Like [`check`], but first applies `domain` to every parameter, to move it to where the function is smooth.
fn check_from(
    shapes: &[&[usize]],
    seed: u64,
    domain: impl Fn(f64) -> f64,
    build: impl FnOnce(&mut Graph, &[ValueId]) -> ValueId,
) {
    let mut graph = Graph::default();
    let parameters: Vec<ValueId> =
        shapes.iter().enumerate().map(|(index, shape)| graph.add_parameter(index, shape)).collect();
    let output = build(&mut graph, &parameters);
    let shape = graph.shape(output).to_vec();
    let weights = graph.add_constant(&shape, spread(volume(&shape), seed ^ 0x55));
    let weighted = graph.element(ElementOp::Multiply, &[output, weights]).unwrap();
    let loss = graph.reduce(Reduction::Sum, weighted, &(0..shape.len()).collect::<Vec<_>>());
    let mut ranges = Vec::new();
    let mut numbers: Vec<f64> = Vec::new();
    for shape in shapes {
        ranges.push(numbers.len()..numbers.len() + volume(shape));
        // The factor also keeps numbers of different tensors apart.
        let apart = 1.0 - 0.013 * ranges.len() as f64;
        let own = spread(volume(shape), seed.wrapping_add(ranges.len() as u64));
        numbers.extend(own.into_iter().map(|number| domain(number * apart)));
    }

    let forward = graph.clone();
    let wanted = gradients(&mut graph, loss, &parameters).unwrap();
    let wanted: Vec<ValueId> = wanted.into_iter().map(|id| id.expect("every parameter is used")).collect();
    let mut backward = Program::<f64>::compile(&graph, &wanted, &ranges).unwrap();
    backward.run(&numbers, &[], 1);
    let mut program = Program::<f64>::compile(&forward, &[loss], &ranges).unwrap();
    let mut loss_at = |numbers: &[f64]| {
        program.run(numbers, &[], 1);
        program.output(0)[0]
    };
    for (index, range) in ranges.iter().enumerate() {
        for element in range.clone() {
            let middle = numbers[element];
            numbers[element] = middle + STEP;
            let above = loss_at(&numbers);
            numbers[element] = middle - STEP;
            let below = loss_at(&numbers);
            numbers[element] = middle;
            let difference = (above - below) / (2.0 * STEP);
            let gradient = backward.output(index)[element - range.start];
            assert!(
                (gradient - difference).abs() <= TOLERANCE * gradient.abs().max(1.0),
                "parameter {index}, element {element}: gradient {gradient}, finite difference {difference}"
            );
        }
    }
}

/// Returns a shape that broadcasts to `shape`. The bits of `mask` select the axes of size 1, and `drop` is the number
/// of leading axes to omit.
fn narrowed(shape: &[usize], mask: usize, drop: usize) -> Vec<usize> {
    let kept = shape.iter().enumerate().map(|(axis, size)| if mask >> axis & 1 == 1 { 1 } else { *size });
    kept.skip(drop.min(shape.len())).collect()
}
