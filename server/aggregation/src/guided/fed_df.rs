use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::validate_examples;
use crate::{Combination, Measured, aggregator::Aggregator};

/// The maximum number of training steps.
const STEPS_MAX: u32 = 100_000;
/// The maximum number of examples in a step.
const BATCH_SIZE_MAX: u32 = 100_000;

/// FedDF: the weighted mean of the clients' models, trained by the coordinator toward the joint predictions of these
/// models.
///
/// Lin, Kong, Stich and Jaggi 2020, "Ensemble distillation for robust model fusion in federated learning", algorithm 1. The mean of the
/// models is the student. It learns from the mean of the logits of all clients' models, by the Kullback-Leibler divergence between their
/// softmaxes (equation 1), with Adam and a learning rate that falls to 0 along a cosine. The labels of the examples are not used.
///
/// The paper stops when the accuracy on a validation set no longer rises. Here the number of steps is fixed, so that a repeated commit
/// gives the same version.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FedDf {
    /// The number of your own examples, uploaded with the task, on which the coordinator trains. A hash picks them. A central
    /// evaluation measures on the others.
    #[serde(default = "default_examples")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000)))]
    pub examples: u64,
    /// The number of training steps at each commit.
    #[serde(default = "default_steps")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000)))]
    pub steps: u32,
    /// The number of examples in a step.
    #[serde(default = "default_batch_size")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000)))]
    pub batch_size: u32,
    /// The learning rate of the first step, above 0.
    #[serde(default = "default_learning_rate")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub learning_rate: f32,
}

fn default_examples() -> u64 {
    200
}

fn default_steps() -> u32 {
    100
}

fn default_batch_size() -> u32 {
    128
}

fn default_learning_rate() -> f32 {
    0.001
}

impl Default for FedDf {
    fn default() -> Self {
        Self {
            examples: default_examples(),
            steps: default_steps(),
            batch_size: default_batch_size(),
            learning_rate: default_learning_rate(),
        }
    }
}

impl FedDf {
    /// Returns the softmax of the mean of `models` rows of logits, whose sum is `sums`, along the last axis of `classes` values.
    pub fn targets(sums: &[f64], models: usize, classes: usize) -> Vec<f64> {
        let mut targets = Vec::with_capacity(sums.len());
        for row in sums.chunks(classes.max(1)) {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let powers: Vec<f64> =
                row.iter().map(|sum| libm::exp((sum - largest) / models.max(1) as f64)).collect();
            let total: f64 = powers.iter().sum();
            targets.extend(powers.iter().map(|power| power / total));
        }
        targets
    }
}

impl Aggregator for FedDf {
    fn combination(&self, weights: &[u64], attenuations: &[f64], _measured: &Measured) -> Combination {
        Combination::attenuated_mean(weights.iter().copied(), attenuations)
    }

    fn validate(&self, _cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        validate_examples(self.examples, faults);
        for (field, value, most) in
            [("steps", self.steps, STEPS_MAX), ("batch_size", self.batch_size, BATCH_SIZE_MAX)]
        {
            if !(1..=most).contains(&value) {
                let remedy = format!("it must be 1 to {most}; leave it out for most tasks");
                faults.push(Fault::new(&format!("aggregator.{field}"), format!("it is {value}"), remedy));
            }
        }
        if !self.learning_rate.is_finite() || self.learning_rate <= 0.0 {
            let message = format!("it is {}", self.learning_rate);
            faults.push(Fault::new("aggregator.learning_rate", message, "it must be above 0; try 0.001"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_softmax_of_the_mean_logits() {
        // Two models: the mean logits are (ln 3, 0) and (0, 0).
        let targets = FedDf::targets(&[2.0 * 3f64.ln(), 0.0, 1000.0, 1000.0], 2, 2);
        let expected = [0.75, 0.25, 0.5, 0.5];
        assert!(targets.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-15), "{targets:?}");
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let fields = |rule: FedDf| {
            let mut faults = Vec::new();
            rule.validate(1, 9, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!(fields(FedDf::default()), [""; 0]);
        let wrong = FedDf { examples: 0, steps: 0, batch_size: 0, learning_rate: f32::NAN };
        let expected = ["examples", "steps", "batch_size", "learning_rate"];
        assert_eq!(fields(wrong), expected.map(|field| format!("aggregator.{field}")));
    }
}
