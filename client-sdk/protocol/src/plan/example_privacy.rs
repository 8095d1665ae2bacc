use serde::{Deserialize, Serialize};

use super::{GradientClipping, fault::Faults};

/// The maximum noise multiplier. A larger one would hide the gradients completely.
const NOISE_MULTIPLIER_MAX: f32 = 1000.0;

/// Differential privacy for single examples of a client: DP-SGD (Abadi et al. 2016, "Deep learning with differential
/// privacy", algorithm 1). It is for clients that hold the examples of many people, such as hospitals. The client
/// itself adds the noise, as the plan says, before the update leaves the device.
///
/// A step draws every example independently with the probability q = `batch_size` / examples. It clips the gradient of
/// each drawn example to the norm `gradient_clipping.per_example_norm`, which must be set. It adds the gradients as
/// integers, adds discrete Gaussian noise, and divides by `batch_size`, however many examples were drawn. A round has
/// `epochs` · examples / `batch_size` steps, rounded. A step that draws no example adds only noise. The device uses its
/// own secret random numbers for draws and noise, so a training that is started again gives a different update.
///
/// The privacy guarantee for the people whose data the client holds: this is the Poisson-sampled Gaussian mechanism
/// with the sampling rate q, the noise multiplier z = `noise_multiplier`, and one repetition for each step of all
/// rounds together. A neighbouring data set has the same examples, except that one of them has the gradient 0. For
/// example, 50,000 examples, a batch of 500 and 20 rounds of one epoch give 2000 steps. `folkmoot privacy plan
/// --clients 50000 --report-goal 500 --rounds 2000 --epsilon 3 --amplification poisson` then returns the multiplier for
/// this ε. In that command, clients stand for examples and rounds for steps.
///
/// The number of examples is not protected: a client reports it when it checks in, and it is the update's weight in a
/// weighted mean. Training metrics are not sent. Only the client itself can count its rounds, and the privacy losses of
/// two tasks on the same examples add up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExamplePrivacy {
    /// z: the standard deviation of the noise on a step's sum, divided by the clipping norm. Above 0, at most 1000.
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
            let allowed = "1 with example privacy; raise batch_size instead";
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
