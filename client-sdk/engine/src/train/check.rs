//! Checks a model's gradients against finite differences in double precision, along random directions.

use std::collections::BTreeSet;
use std::ops::Range;

use folkmoot_graph::autodiff::slope_differences;
use folkmoot_graph::random::standard_normal;
use folkmoot_protocol::TrainingPlan;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::TrainError;
use crate::model::Model;
use crate::processor::{BatchProgram, BatchSource};
use crate::step::{Role, StepSource};
use folkmoot_loss::loss::{LabelForm, Layout};

/// The number of random directions.
const DIRECTIONS: usize = 8;
/// The number of synthetic examples for the check.
const BATCH_SIZE: usize = 4;

/// The difference between gradients and finite differences.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct GradientCheck {
    /// The number of random directions in the space of the weights.
    pub directions: usize,
    /// The largest difference between a derivative and its prediction from the gradient. It is relative to the largest
    /// of both derivatives and 1e-6 times the gradient's norm. Infinite if a derivative is NaN.
    pub largest_difference: f64,
    /// The number of trained elements with a gradient. All of these gradients are compared.
    pub trained_elements: usize,
    /// Tensors that the plan trains, but on which the loss does not depend. They never change.
    pub without_gradient: Vec<String>,
}

impl GradientCheck {
    /// Compares directional derivatives of the loss with its gradient along random directions, in double precision, on
    /// synthetic examples. With Relu or max pooling there may be small differences where a direction crosses a kink.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the plan does not match the model, or the step cannot be compiled.
    pub fn new(model: &Model, plan: &TrainingPlan, seed: u64) -> Result<Self, TrainError> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let source = StepSource::without_examples(model, plan)?;
        let source = BatchSource::new(source);
        let mut step = BatchProgram::<f64>::compile(&source, BATCH_SIZE, false)?;
        step.reserve()?;
        let features =
            model.made_up_features(BATCH_SIZE, &mut rng).into_iter().map(f64::from).collect::<Vec<_>>();
        let labels = made_up_labels(&source.step.layout);
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
        let trained_elements = gradient.len();
        let with_gradient: BTreeSet<usize> = step.trained().iter().map(|range| range.start).collect();
        let parameters = &source.step.parameters;
        let tensors = model.parameters().iter().zip(parameters.roles.iter().zip(&parameters.ranges));
        let without = tensors
            .filter(|(_, (role, range))| **role == Role::Trained && !with_gradient.contains(&range.start));
        let without_gradient = without.map(|(spec, _)| spec.name.clone()).collect();
        let largest_difference = differences.into_iter().fold(0.0, worst);
        Ok(Self { directions: DIRECTIONS, largest_difference, trained_elements, without_gradient })
    }
}

impl Model {
    /// Returns features for synthetic examples, row-major: random numbers, and row numbers where the model looks up rows
    /// of a table.
    pub fn synthetic_features(&self, rows: usize, seed: u64) -> Vec<f32> {
        self.made_up_features(rows, &mut ChaCha20Rng::seed_from_u64(seed))
    }

    fn made_up_features(&self, rows: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
        let width: usize = self.input_shape().iter().product();
        let lookups = self.lookups();
        let mut features: Vec<f32> = (0..rows * width)
            .map(|index| match lookups.has_unchecked {
                true => (index * 7 % 5) as f32,
                false => standard_normal(rng) as f32,
            })
            .collect();
        // The smallest table comes last, so that its rows are valid for all tables that read the feature.
        let mut checked = lookups.checked.clone();
        checked.sort_by_key(|lookup| std::cmp::Reverse(lookup.rows));
        for (row, features) in features.chunks_exact_mut(width).enumerate() {
            for (number, lookup) in checked.iter().enumerate() {
                let position = (7 * row + 3 * number) % lookup.rows;
                features[lookup.column] = ((position as f64 - lookup.offset) / lookup.scale) as f32;
            }
        }
        features
    }
}

fn made_up_labels(layout: &Layout) -> Vec<f64> {
    let labels = (0..BATCH_SIZE * layout.labels_per_example()).map(|index| match layout.form {
        LabelForm::Classes => (index * 3 % layout.classes) as f64,
        LabelForm::Values | LabelForm::Ignored(_) => (index % 2) as f64,
    });
    labels.collect()
}
