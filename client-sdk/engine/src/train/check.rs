//! Checks a model's gradients against finite differences in double precision, along random directions.

use std::ops::Range;

use folkmoot_graph::autodiff::slope_differences;
use folkmoot_graph::random::standard_normal;
use folkmoot_protocol::TrainingPlan;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::TrainError;
use crate::loss::{LabelForm, Layout};
use crate::model::Model;
use crate::processor::{BatchProgram, BatchSource};
use crate::step::StepSource;

/// The number of random directions.
const DIRECTIONS: usize = 8;
/// The number of synthetic examples for the check.
const BATCH_SIZE: usize = 4;

/// The difference between gradients and finite differences.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct GradientCheck {
    /// The number of random directions in the space of the weights.
    pub directions: usize,
    /// The largest difference between a derivative and its prediction from the gradient. It is relative to the largest
    /// of both derivatives and 1e-6 times the gradient's norm. Infinite if a derivative is NaN.
    pub largest_difference: f64,
}

impl GradientCheck {
    /// Compares directional derivatives of the loss with its gradient along random directions, in double precision, on
    /// synthetic examples. With Relu or max pooling there may be small differences where a direction crosses a kink.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the plan does not match the model, or the step cannot be compiled.
    pub fn new(model: &Model, plan: &TrainingPlan, seed: u64) -> Result<Self, TrainError> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let source = StepSource::without_examples(model, plan.loss, &plan.frozen)?;
        let source = BatchSource::new(source);
        let mut step = BatchProgram::<f64>::compile(&source, BATCH_SIZE, false)?;
        step.reserve()?;
        let (features, labels) = made_up(model, &source.step.layout, &mut rng);
        let mut weights: Vec<f64> = model.initial_weights().into_iter().map(f64::from).collect();
        step.run_inputs(&weights, &[&features, &labels], seed);
        let slopes =
            |(index, range): (usize, &Range<usize>)| range.clone().zip(step.gradient(index).to_vec());
        let gradient: Vec<(usize, f64)> = step.trained().iter().enumerate().flat_map(slopes).collect();
        let norm = gradient.iter().map(|(_, slope)| slope * slope).sum::<f64>().sqrt();
        let floor = (1e-6 * norm).max(f64::MIN_POSITIVE);
        let loss_at = |weights: &[f64]| {
            step.run_inputs(weights, &[&features, &labels], seed);
            step.loss()
        };
        let differences = slope_differences(&mut weights, &gradient, floor, DIRECTIONS, &mut rng, loss_at);
        // Count a NaN derivative as an infinite error.
        let worst =
            |largest: f64, found: f64| if found.is_nan() { f64::INFINITY } else { largest.max(found) };
        Ok(Self { directions: DIRECTIONS, largest_difference: differences.into_iter().fold(0.0, worst) })
    }
}

/// Returns features and labels for a few synthetic examples. Features are row numbers where the model looks up rows of
/// a table.
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
