use serde::{Deserialize, Serialize};

use super::{GradientClipping, fault::Faults};

/// Above this, nothing is left of a gradient.
const NOISE_MULTIPLIER_MAX: f32 = 1000.0;

/// Differential privacy towards the single examples of a client: DP-SGD (Abadi et al. 2016, "Deep learning with
/// differential privacy", algorithm 1). For clients that hold the examples of many people, such as hospitals; it is the
/// client that adds the noise, as the plan says, before the update leaves it.
///
/// A step draws every example with the probability q = `batch_size` / examples, each by a coin of its own. It clips the
/// gradient of each to the norm of `gradient_clipping.per_example_norm`, which it needs, adds them up as integers, adds
/// discrete Gaussian noise and divides by `batch_size`, however many were drawn. Of `epochs` · examples / `batch_size` steps,
/// rounded, some may draw no example at all: these are noise alone. Coins and noise are the device's and follow from no seed,
/// so a training that is begun again gives another update.
///
/// What a client may tell its people: it is the Poisson-sampled Gaussian mechanism with the sampling rate q, the multiplier
/// z = `noise_multiplier`, and as many repetitions as it takes steps in all rounds together. The neighbouring data set has
/// the same examples, but one of them teaches nothing (its gradient is 0). With 50,000 examples, a batch of 500 and 20 rounds
/// of one epoch that are 2000 steps:
/// `folkmoot privacy plan --clients 50000 --report-goal 500 --rounds 2000 --epsilon 3 --amplification poisson` answers with
/// the multiplier for this ε, where clients stand for examples and rounds for steps.
///
/// Not protected is the number of examples: a client names it when it checks in, and it is the weight of its update in a
/// weighted mean. What training measured is not sent. Nobody but the client itself counts its rounds, and two tasks on the
/// same examples add up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExamplePrivacy {
    /// z: the deviation of the noise on a step's sum over the clipping norm. Above 0, at most 1000.
    #[cfg_attr(
        feature = "schema",
        schemars(range(max = 1000), extend("exclusiveMinimum" = 0, "examples" = [1.1]))
    )]
    pub noise_multiplier: f32,
}

impl ExamplePrivacy {
    pub(super) fn list_faults(
        &self,
        clipping: Option<GradientClipping>,
        accumulation_steps: u32,
        faults: &mut Faults,
    ) {
        let (field, multiplier) = ("example_privacy.noise_multiplier", self.noise_multiplier);
        if !(multiplier > 0.0 && multiplier <= NOISE_MULTIPLIER_MAX) {
            faults.add(field, multiplier.into(), "above 0 and at most 1000");
        }
        if !matches!(clipping, Some(GradientClipping::PerExampleNorm(_))) {
            faults.add(field, multiplier.into(), "absent without gradient_clipping.per_example_norm");
        }
        if accumulation_steps > 1 {
            let allowed = "1 with example privacy, whose batch_size may be as large as it takes";
            faults.add("accumulation_steps", accumulation_steps.into(), allowed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrainingPlan;

    const PLAN: &str = r#"{
        "loss":"softmax_cross_entropy","optimizer":{"sgd":{"learning_rate":0.5}},"epochs":1,"batch_size":8,
        "gradient_clipping":{"per_example_norm":1.5},"example_privacy":{"noise_multiplier":0.5}
    }"#;

    #[test]
    fn example_privacy_needs_clipped_examples_and_steps_of_its_own() {
        let plan: TrainingPlan = serde_json::from_str(PLAN).unwrap();
        assert_eq!(plan.validate(), Ok(()));
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<TrainingPlan>(&json).unwrap(), plan);
        assert!(serde_json::from_str::<TrainingPlan>(&PLAN.replace("multiplier", "scale")).is_err());
        for clipping in [None, Some(GradientClipping::Norm(1.5)), Some(GradientClipping::Value(1.5))] {
            let faults = TrainingPlan { gradient_clipping: clipping, ..plan.clone() }.faults();
            assert!(faults.len() == 1 && faults[0].to_string().contains("per_example_norm"), "{faults:?}");
        }
        let accumulating = TrainingPlan { accumulation_steps: 2, ..plan.clone() };
        assert_eq!(accumulating.validate().unwrap_err().field, "accumulation_steps");
        for (noise_multiplier, is_allowed) in
            [(1e-9, true), (1000.0, true), (1000.5, false), (0.0, false), (-1.0, false), (f32::NAN, false)]
        {
            let example_privacy = Some(ExamplePrivacy { noise_multiplier });
            let plan = TrainingPlan { example_privacy, ..plan.clone() };
            assert_eq!(plan.validate().is_ok(), is_allowed, "{noise_multiplier}");
        }
    }
}
