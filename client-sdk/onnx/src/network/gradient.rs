//! Compares gradients of a whole network with central differences, in double precision.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use folkmoot_graph::autodiff::{gradients, slope_differences};
use folkmoot_graph::op::{ElementOp, Reduction, volume};
use folkmoot_graph::program::{ExecuteError, Program};
use folkmoot_graph::random::standard_normal;
use folkmoot_graph::{Graph, Source, ValueId};

/// The number of random directions.
const DIRECTIONS: usize = 4;
/// Implements [`super::Network::gradient_difference`]. Skips directions in which a derivative is not finite.
///
/// # Errors
/// Returns an [`ExecuteError`] if memory runs out.
pub(super) fn difference(
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
    let mut numbers = fed.concat();
    let starts: Vec<usize> = fed
        .iter()
        .scan(0, |next, input| {
            *next += input.len();
            Some(*next - input.len())
        })
        .collect();
    program.run(&[], fed, 0);
    let gradient: Vec<(usize, f64)> = (1..)
        .zip(&kept)
        .flat_map(|(output, (input, _))| (starts[*input]..).zip(program.output(output).to_vec()))
        .collect();
    let loss_at = |numbers: &[f64]| {
        let inputs = fed.iter().zip(&starts).map(|(input, start)| &numbers[*start..start + input.len()]);
        program.run(&[], &inputs.collect::<Vec<_>>(), 0);
        program.output(0)[0]
    };
    let differences = slope_differences(&mut numbers, &gradient, 1.0, DIRECTIONS, &mut rng, loss_at);
    Ok(differences.into_iter().filter(|difference| difference.is_finite()).reduce(f64::max))
}

/// Returns the sum of all elements of all outputs, each times a random weight.
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
