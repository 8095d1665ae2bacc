//! Are a model's gradients right? A second answer in double precision, along random directions.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::parameters::{Parameters, Role};
use super::{TrainError, TrainingPlan};
use crate::autodiff::gradients;
use crate::cpu::Program;
use crate::graph::{Source, ValueId};
use crate::loss::{self, LabelForm, Layout};
use crate::model::Model;
use crate::onnx::Mode;
use crate::random::standard_normal;
use crate::train::Loss;

/// Directions along which the loss is differentiated.
const DIRECTIONS: usize = 8;
/// Half the distance between the two points of a central difference.
const STEP: f64 = 1e-6;
/// Examples that are made up for the check.
const BATCH_SIZE: usize = 4;

/// How far gradients and finite differences are apart.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct GradientCheck {
    /// Random directions in the space of the weights.
    pub directions: usize,
    /// The largest difference, relative to the larger of the two and to 1e-6 of the gradient's norm.
    pub largest_difference: f64,
}

impl GradientCheck {
    /// Compares the slope of the loss along random directions with its gradient, in double precision, for made-up
    /// examples. A model with Relu or max pooling may be a little apart where a direction crosses a kink.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the plan does not go with the model, or it cannot be compiled.
    pub fn new(model: &Model, plan: &TrainingPlan, seed: u64) -> Result<Self, TrainError> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let parameters = Parameters::new(model, plan)?;
        let form = match plan.loss {
            Loss::SoftmaxCrossEntropy => LabelForm::Classes,
            _ => LabelForm::Values,
        };
        let layout = Layout::new(model.output_shape(), form);
        let lowered = model.lower(BATCH_SIZE, Mode::Training)?;
        let mut graph = lowered.graph;
        let labels = graph.add_input(&layout.label_shape(BATCH_SIZE));
        let loss = loss::build(&mut graph, plan.loss, &layout, lowered.output, labels, None)?;
        let trained: Vec<(usize, ValueId)> = graph
            .values
            .iter()
            .enumerate()
            .filter_map(|(id, value)| match value.source {
                Source::Parameter(index) if parameters.roles[index] == Role::Trained => {
                    Some((index, ValueId(id)))
                }
                _ => None,
            })
            .collect();
        let ids: Vec<ValueId> = trained.iter().map(|(_, id)| *id).collect();
        let slopes = gradients(&mut graph, loss, &ids)?;
        let (kept, mut outputs): (Vec<usize>, Vec<ValueId>) =
            trained.iter().zip(slopes).filter_map(|((index, _), slope)| Some((*index, slope?))).unzip();
        outputs.insert(0, loss);
        let mut program = Program::<f64>::compile(&graph, &outputs, &parameters.ranges)?;

        let (features, labels) = made_up(model, &layout, &mut rng);
        let mut weights: Vec<f64> = model.initial_weights().into_iter().map(f64::from).collect();
        program.run(&weights, &[&features, &labels], seed);
        let gradient: Vec<(usize, f64)> = kept
            .iter()
            .enumerate()
            .flat_map(|(output, index)| {
                parameters.ranges[*index].clone().zip(program.output(output + 1).to_vec())
            })
            .collect();
        let norm = gradient.iter().map(|(_, slope)| slope * slope).sum::<f64>().sqrt();
        let mut largest_difference: f64 = 0.0;
        for _ in 0..DIRECTIONS {
            let direction: Vec<f64> = gradient.iter().map(|_| standard_normal(&mut rng)).collect();
            let expected: f64 = gradient.iter().zip(&direction).map(|((_, slope), d)| slope * d).sum();
            let mut at = |offset: f64| {
                gradient.iter().zip(&direction).for_each(|((place, _), d)| weights[*place] += offset * d);
                program.run(&weights, &[&features, &labels], seed);
                program.output(0)[0]
            };
            let (above, below) = (at(STEP), at(-2.0 * STEP));
            at(STEP);
            let found = (above - below) / (2.0 * STEP);
            let scale = expected.abs().max(found.abs()).max(1e-6 * norm).max(f64::MIN_POSITIVE);
            largest_difference = largest_difference.max((expected - found).abs() / scale);
        }
        Ok(Self { directions: DIRECTIONS, largest_difference })
    }
}

/// Features and labels for a few examples: numbers of a table's rows where the model looks something up.
fn made_up(model: &Model, layout: &Layout, rng: &mut ChaCha20Rng) -> (Vec<f64>, Vec<f64>) {
    let count = BATCH_SIZE * model.input_shape().iter().product::<usize>();
    let looks_up = model.operators().contains_key("Gather");
    let features = (0..count).map(|index| match looks_up {
        true => (index * 7 % 5) as f64,
        false => standard_normal(rng),
    });
    let features = features.collect();
    let labels = (0..BATCH_SIZE * layout.labels_per_example()).map(|index| match layout.form {
        LabelForm::Classes => (index * 3 % layout.classes) as f64,
        LabelForm::Values => (index % 2) as f64,
    });
    (features, labels.collect())
}
