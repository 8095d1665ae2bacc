//! Gradients of a whole network against central differences, in double precision.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::autodiff::gradients;
use crate::cpu::{ExecuteError, Program};
use crate::graph::{ElementOp, Graph, Reduction, Source, ValueId, volume};
use crate::random::standard_normal;

/// Directions along which the loss is differentiated.
const DIRECTIONS: usize = 4;
/// Half the distance between the two points of a central difference.
const STEP: f64 = 1e-6;

/// See [`super::Network::gradient_difference`]. Points at which the function is not finite are passed over.
///
/// # Errors
/// Returns an [`ExecuteError`] if memory runs out.
pub(super) fn largest_difference(
    mut graph: Graph,
    outputs: &[ValueId],
    fed: &[&[f64]],
    seed: u64,
) -> Result<Option<f64>, ExecuteError> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let Some(loss) = weighted_sum(&mut graph, outputs, &mut rng) else { return Ok(None) };
    let is_input = |id: &ValueId| matches!(graph.values[id.0].source, Source::Input(_));
    let inputs: Vec<ValueId> = (0..graph.values.len()).map(ValueId).filter(is_input).collect();
    let slopes =
        gradients(&mut graph, loss, &inputs).expect("the rules fit the shapes that the importer checked");
    let kept: Vec<(usize, ValueId)> =
        slopes.into_iter().enumerate().filter_map(|(input, slope)| Some((input, slope?))).collect();
    if kept.is_empty() {
        return Ok(None);
    }
    let wanted: Vec<ValueId> = std::iter::once(loss).chain(kept.iter().map(|(_, slope)| *slope)).collect();
    let mut program = Program::<f64>::compile(&graph, &wanted, &[])?;
    let mut numbers: Vec<Vec<f64>> = fed.iter().map(|input| input.to_vec()).collect();
    run(&mut program, &numbers);
    let gradient: Vec<Vec<f64>> = (0..kept.len()).map(|index| program.output(index + 1).to_vec()).collect();
    let mut largest: Option<f64> = None;
    for _ in 0..DIRECTIONS {
        let direction: Vec<Vec<f64>> =
            gradient.iter().map(|slope| slope.iter().map(|_| standard_normal(&mut rng)).collect()).collect();
        let pairs = gradient.iter().flatten().zip(direction.iter().flatten());
        let expected: f64 = pairs.map(|(slope, d)| slope * d).sum();
        let mut at = |offset: f64| {
            for ((input, _), direction) in kept.iter().zip(&direction) {
                numbers[*input].iter_mut().zip(direction).for_each(|(number, d)| *number += offset * d);
            }
            run(&mut program, &numbers);
            program.output(0)[0]
        };
        let (above, below) = (at(STEP), at(-2.0 * STEP));
        at(STEP);
        let found = (above - below) / (2.0 * STEP);
        if expected.is_finite() && found.is_finite() {
            let difference = (expected - found).abs() / expected.abs().max(found.abs()).max(1.0);
            largest = Some(largest.map_or(difference, |largest| largest.max(difference)));
        }
    }
    Ok(largest)
}

fn run(program: &mut Program<f64>, numbers: &[Vec<f64>]) {
    let inputs: Vec<&[f64]> = numbers.iter().map(Vec::as_slice).collect();
    program.run(&[], &inputs, 0);
}

/// The sum of all elements of all outputs, each with a weight of its own.
fn weighted_sum(graph: &mut Graph, outputs: &[ValueId], rng: &mut ChaCha20Rng) -> Option<ValueId> {
    let mut total: Option<ValueId> = None;
    for output in outputs {
        let shape = graph.shape(*output).to_vec();
        if volume(&shape) == 0 {
            continue;
        }
        let weights = (0..volume(&shape)).map(|_| standard_normal(rng)).collect();
        let weights = graph.add_constant(&shape, weights);
        let fits = "the weights have the output's shape";
        let weighted = graph.element(ElementOp::Multiply, &[*output, weights]).expect(fits);
        let axes: Vec<usize> = (0..shape.len()).collect();
        let sum = graph.reduce(Reduction::Sum, weighted, &axes);
        let sum = graph.reshape(sum, &[1]).expect("it has one element");
        total = Some(match total {
            Some(total) => graph.element(ElementOp::Add, &[total, sum]).expect("both have one element"),
            None => sum,
        });
    }
    total
}
