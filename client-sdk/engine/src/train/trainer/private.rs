//! A step with example privacy: DP-SGD (Abadi et al. 2016, algorithm 1).

use super::Trainer;
use crate::step::SecretChance;

impl Trainer {
    /// Sets the secret random number generator for the sampling and noise of example privacy. Steps of plans with
    /// example privacy fail without it; other plans do not use it.
    ///
    /// Checkpoints do not contain the generator. A resumed training draws new random numbers from the generator that is
    /// set afterwards.
    pub fn set_secret_chance(&mut self, chance: Box<dyn SecretChance>) {
        self.processor.set_chance(chance);
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use folkmoot_graph::step::StepRequest;
    use folkmoot_onnx::{ImportLimits, build};
    use folkmoot_protocol::{ExamplePrivacy, GradientClipping, LocalOptimizer, Loss, TrainingPlan};
    use proptest::prelude::*;

    use super::*;
    use crate::{Examples, Labels, Model};

    const EXAMPLES: usize = 8;

    fn trainer(features: Vec<f32>, weights: Option<Vec<f32>>, bound: f32, seed: u64) -> Trainer {
        let model = Model::from_onnx(&build::mlp_with_dropout(&[3, 16, 2], 1), &ImportLimits::default());
        let model = model.unwrap();
        let labels = Labels::Classes((0..EXAMPLES).map(|row| (row % 2) as u32).collect());
        let mut examples = Examples::new(features, vec![3], labels).unwrap();
        if let Some(weights) = weights {
            examples = examples.with_weights(weights).unwrap();
        }
        let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
        let plan = TrainingPlan {
            batch_size: 3,
            gradient_clipping: Some(GradientClipping::PerExampleNorm(bound)),
            example_privacy: Some(ExamplePrivacy { noise_multiplier: 1.0 }),
            ..plan
        };
        Trainer::new(&model, &model.initial_weights(), plan, &examples, seed).unwrap()
    }

    /// Returns the integer sums over these examples, and the sensitivity: the maximum change of a sum by one example.
    fn sum(trainer: &mut Trainer, rows: &[usize]) -> (Vec<i64>, u64) {
        let (rows, seed) = (Cow::Borrowed(rows), trainer.seed);
        let request = StepRequest { rows, number: 0, seed, learning_rate: 0.1 };
        trainer.processor.private_sum(&request, &mut trainer.host).unwrap()
    }

    fn squared_distance(first: &[i64], second: &[i64]) -> u128 {
        first.iter().zip(second).map(|(a, b)| u128::from(a.abs_diff(*b)).pow(2)).sum()
    }

    proptest! {
        #[test]
        fn an_example_changes_the_sum_by_the_norm_at_most(
            features in prop::collection::vec(prop_oneof![-2f32..2.0, -1e30f32..1e30], 3 * EXAMPLES),
            weights in prop::option::of(prop::collection::vec(prop_oneof![Just(0f32), 0f32..1e3], EXAMPLES)),
            drawn in prop::collection::vec(any::<bool>(), EXAMPLES), taken in 0..EXAMPLES,
            bound in prop_oneof![1e-3f32..1e-2, 0.1f32..10.0, 1e3f32..1e4], seed: u64,
        ) {
            let mut trainer = trainer(features, weights, bound, seed);
            let rows = |has_taken: bool| -> Vec<usize> {
                (0..EXAMPLES).filter(|row| if *row == taken { has_taken } else { drawn[*row] }).collect()
            };
            let (with, norm_steps) = sum(&mut trainer, &rows(true));
            let (without, _) = sum(&mut trainer, &rows(false));
            prop_assert!(squared_distance(&with, &without) <= u128::from(norm_steps).pow(2));
            if rows(false).is_empty() {
                prop_assert!(without.iter().all(|sum| *sum == 0));
            }
        }
    }

    #[test]
    fn a_clipped_example_changes_the_sum_by_the_norm() {
        let mut trainer = trainer((0..3 * EXAMPLES).map(|index| index as f32).collect(), None, 1e-3, 7);
        let (with, norm_steps) = sum(&mut trainer, &[0, 2, 5]);
        let (without, _) = sum(&mut trainer, &[2, 5]);
        let distance = (squared_distance(&with, &without) as f64).sqrt();
        assert!(distance > 0.999 * norm_steps as f64, "{distance} of {norm_steps}");
    }
}
