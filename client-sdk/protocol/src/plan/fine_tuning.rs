use serde::{Deserialize, Serialize};

use super::{LearningRateSchedule, LocalOptimizer, Precision, TrainingPlan};

/// The smallest and the largest share of a client's examples that only measure.
const HELD_OUT_SHARES: [f32; 2] = [0.01, 0.9];
/// The maximum number of epochs.
const EPOCHS_MAX: u32 = 1_000;

/// A fine-tuning of the version in an evaluation: a client measures the version on examples that it holds out, trains it on its other
/// examples, and measures it again on the held-out ones (Wang et al. 2019, "Federated evaluation of on-device personalization"; Yu et
/// al. 2020, "Salvaging federated learning by local adaptation", section 3.1).
///
/// The steps use the batches, loss, clipping and frozen tensors of `plan`, but plain SGD with a constant learning rate.
/// The fine-tuned weights stay on the device and are dropped after the evaluation. A client needs at least 2 examples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FineTuning {
    /// Passes over the examples that are not held out, from 1 to 1000.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000), extend("examples" = [1])))]
    pub epochs: u32,
    /// The learning rate of the fine-tuning, above 0.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.05])))]
    pub learning_rate: f32,
    /// The share of a client's examples that is held out, from 0.01 to 0.9: at least one example, and not all of them. Every
    /// evaluation holds out the same ones.
    #[serde(default = "a_fifth")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 0.9)))]
    pub held_out_share: f32,
}

fn a_fifth() -> f32 {
    0.2
}

impl FineTuning {
    /// Lists the fields that are out of range: their names, their values, and the allowed values.
    pub fn faults(&self) -> Vec<(&'static str, f64, &'static str)> {
        let [least, most] = HELD_OUT_SHARES;
        let is_positive = self.learning_rate.is_finite() && self.learning_rate > 0.0;
        let fields = [
            ("epochs", f64::from(self.epochs), "1 to 1000", (1..=EPOCHS_MAX).contains(&self.epochs)),
            ("learning_rate", self.learning_rate.into(), "above 0", is_positive),
            (
                "held_out_share",
                self.held_out_share.into(),
                "0.01 to 0.9",
                (least..=most).contains(&self.held_out_share),
            ),
        ];
        fields
            .into_iter()
            .filter(|one| !one.3)
            .map(|(field, value, allowed, _)| (field, value, allowed))
            .collect()
    }

    /// Returns the training of the fine-tuning. What clients do for the rounds of a task (a proximal term, an order of examples, models
    /// of their own) is left out.
    pub fn training(&self, plan: &TrainingPlan) -> TrainingPlan {
        TrainingPlan {
            optimizer: LocalOptimizer::sgd(self.learning_rate),
            epochs: self.epochs,
            steps_max: None,
            time_limit_seconds: None,
            learning_rate_schedule: LearningRateSchedule::Constant,
            warmup_steps: 0,
            warmup_from: None,
            learning_rate_factors: Vec::new(),
            curriculum: None,
            small_loss_selection: None,
            proximal_term: 0.0,
            personal_training: None,
            elastic_averaging: None,
            model_contrast: None,
            clusters: None,
            widths: None,
            precision: Precision::Single,
            ..plan.clone()
        }
    }

    /// Returns the places of the examples with which a client trains, and of those that it holds out, in ascending order. `None` if
    /// there are fewer than 2 examples.
    ///
    /// Held out are the examples whose numbers have the smallest hashes. So the division depends on the number of examples only, and
    /// not on their order in time or by class.
    pub fn divide(&self, example_count: usize) -> Option<[Vec<usize>; 2]> {
        let most = example_count.checked_sub(1).filter(|most| *most > 0)?;
        let share = f64::from(self.held_out_share) * example_count as f64;
        // The number that is nearest to the share.
        let held_out = (1..=most).take_while(|count| *count as f64 - 0.5 <= share).count().max(1);
        let mut order: Vec<usize> = (0..example_count).collect();
        order.sort_by_key(|place| (hash(*place as u64), *place));
        let mut training = order.split_off(held_out);
        order.sort_unstable();
        training.sort_unstable();
        Some([training, order])
    }
}

/// `SplitMix64` (Steele et al. 2014, "Fast splittable pseudorandom number generators", figure 17), one step from this state.
fn hash(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNING: FineTuning = FineTuning { epochs: 2, learning_rate: 0.1, held_out_share: 0.25 };

    #[test]
    fn the_division_has_every_example_once_and_a_share_of_them() {
        assert_eq!(hash(0), 0xe220_a839_7b1d_cdaf, "the first number of SplitMix64 with seed 0");
        for (count, held_out) in [(2, 1), (3, 1), (4, 1), (10, 3), (100, 25)] {
            let [training, measured] = TUNING.divide(count).expect("there are enough");
            assert_eq!(measured.len(), held_out, "{count}");
            let mut all = [training, measured].concat();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
        let most = FineTuning { held_out_share: 0.9, ..TUNING };
        assert_eq!(most.divide(2).map(|[training, _]| training.len()), Some(1));
        assert_eq!([TUNING.divide(0), TUNING.divide(1)], [None, None]);
    }

    #[test]
    fn numbers_out_of_range_are_told() {
        let fields = |tuning: FineTuning| tuning.faults().iter().map(|fault| fault.0).collect::<Vec<_>>();
        assert_eq!(fields(TUNING), [""; 0]);
        for epochs in [0, 1001] {
            assert_eq!(fields(FineTuning { epochs, ..TUNING }), ["epochs"]);
        }
        for learning_rate in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert_eq!(fields(FineTuning { learning_rate, ..TUNING }), ["learning_rate"]);
        }
        for held_out_share in [0.0, 0.95, f32::NAN] {
            assert_eq!(fields(FineTuning { held_out_share, ..TUNING }), ["held_out_share"]);
        }
    }
}
