//! The loss of a client's examples as a function of all weights, for algorithms that are written again as in their papers.

use folkmoot_data::{ReadOptions, read};
use folkmoot_engine::{Examples, Model, Trainer, TrainingPlan};
use folkmoot_simulation::simulate::DataSource;
use serde_json::{Value, json};

/// Returns the digits of the examples.
pub fn digits() -> DataSource {
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/digits.csv");
    let training = read(digits.as_ref(), &ReadOptions::default()).expect("the digits are there");
    DataSource::Given { training, held_out: None }
}

/// Returns a plan of full batches, so that the order of the examples has no effect.
pub fn plan(rate: f64, steps: usize) -> Value {
    json!({
        "loss": "softmax_cross_entropy",
        "optimizer": { "sgd": { "learning_rate": rate } },
        "epochs": steps,
        "steps_max": steps,
        "batch_size": 10_000,
    })
}

/// The mean loss of a client's examples.
pub struct Objective<'a> {
    pub model: &'a Model,
    pub examples: &'a Examples,
}

impl Objective<'_> {
    /// Returns the gradient: the negative change in one step, divided by its rate. A large power of two keeps the digits of a small
    /// gradient beside those of the weights.
    pub fn gradient(&self, weights: &[f64]) -> Vec<f64> {
        let start: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
        let plan: TrainingPlan = serde_json::from_value(plan(1024.0, 1)).expect("it is a plan");
        let mut trainer = Trainer::new(self.model, &start, plan, self.examples, 1).expect("the examples fit");
        trainer.step().expect("it does not diverge");
        trainer.finish().delta.iter().map(|change| f64::from(*change) / -1024.0).collect()
    }

    /// Takes a step against the gradient plus `extra` of the weights and an index.
    pub fn step(&self, weights: &mut [f64], rate: f64, extra: impl Fn(&[f64], usize) -> f64) {
        let gradient = self.gradient(weights);
        let extras: Vec<f64> = (0..weights.len()).map(|index| extra(weights, index)).collect();
        for ((weight, gradient), extra) in weights.iter_mut().zip(gradient).zip(extras) {
            *weight -= rate * (gradient + extra);
        }
    }
}
