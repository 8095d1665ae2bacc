use serde::{Deserialize, Serialize};

use super::{
    Augmentation, Clusters, Curriculum, ElasticAveraging, ExamplePrivacy, GradientClipping, L1,
    LearningRateSchedule, LocalOptimizer, Loss, ModelContrast, PersonalTraining, Precision,
    RunningStatistics, SharpnessAware, SmallLossSelection, ValueRange, Widths,
    fault::{Faults, PlanError},
    learning_rate_schedule::list_warmup_faults,
};
use crate::{NamePattern, limits::TENSOR_NAME_BYTES_MAX};

/// The local training of a round: loss, optimizer and duration. Settings that are left out are off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TrainingPlan {
    /// The loss to minimise.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["softmax_cross_entropy"])))]
    pub loss: Loss,
    /// Replaces a target t by (1 − `label_smoothing`)·t + `label_smoothing` / classes in training, from 0 (off) to below 1
    /// (Szegedy et al. 2016, "Rethinking the inception architecture for computer vision", section 7). Only for the loss
    /// `softmax_cross_entropy`. Evaluations measure the loss without it.
    #[serde(default, skip_serializing_if = "is_off")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "default" = 0.0)))]
    pub label_smoothing: f32,
    /// The weight of each class, 0 or more, in the order of the class numbers: the loss of a label is multiplied by the weight of
    /// its class (for a distribution t, Σ t·weight). Use it if some classes are rare. The sum of the losses is not divided by
    /// the weights, so weights whose mean over the labels is 1 keep the size of a step. Only for the losses
    /// `softmax_cross_entropy`, `generalized_cross_entropy` and `symmetric_cross_entropy`, 2 to 4096 weights, not all 0. Without
    /// them, each class counts 1. Evaluations measure the loss without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 4096), extend("default" = [], "examples" = [[0.5, 1.5]])))]
    pub class_weights: Vec<f32>,
    /// The name of the model's output that the loss is computed from, 1 to 256 bytes, or of a value inside of its graph,
    /// such as the input of a final softmax. If it is absent, the only output that the loss fits is trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 256), extend("examples" = ["logits"])))]
    pub output: Option<String>,
    /// The optimizer, as a table with one key and its settings.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "sgd": { "learning_rate": 0.1 } }])))]
    pub optimizer: LocalOptimizer,
    /// The schedule of the learning rate within a round.
    #[serde(default, skip_serializing_if = "LearningRateSchedule::is_constant")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = "constant")))]
    pub learning_rate_schedule: LearningRateSchedule,
    /// Warm-up steps before the schedule begins, in which the learning rate rises linearly. The factor of step `s`,
    /// counted from 0, is (s + 1) / warmup_steps (Goyal et al. 2017, section 2.2).
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0)))]
    pub warmup_steps: u32,
    /// The factor of step 0 of the warm-up, from 0 to 1. The factor of step `s` is `warmup_from` + (1 −
    /// `warmup_from`)·s / `warmup_steps`, so the first step after the warm-up is the first with the full learning rate. To
    /// warm up as optax and Hugging Face's schedules do, set 0; as PyTorch's `LinearLR` does, set its `start_factor`. If it
    /// is absent, the last step of the warm-up has the full learning rate already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "maximum" = 1, "examples" = [0.0])))]
    pub warmup_from: Option<f32>,
    /// The factor of the learning rate in each step, instead of a schedule and a warm-up. Use it for a schedule that you
    /// compute yourself. The last factor applies to all later steps. Each factor is 0 or more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 4096), extend("default" = [], "examples" = [[0.1, 1.0, 0.5]])))]
    pub learning_rate_factors: Vec<f32>,
    /// A limit on the gradient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "norm": 1.0 }])))]
    pub gradient_clipping: Option<GradientClipping>,
    /// A second gradient in each step, towards weights around which the loss is flat (FedSAM).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "radius": 0.05 }])))]
    pub sharpness_aware: Option<SharpnessAware>,
    /// Random changes of the examples in each step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "noise": 0.1 }])))]
    pub augmentation: Option<Box<Augmentation>>,
    /// A penalty on the absolute values of chosen tensors, by a proximal step after each step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "strength": 0.01, "tensors": ["*.weight"] }])))]
    pub l1: Option<Box<L1>>,
    /// A range into which the values of chosen tensors are projected after each step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "min": 0.0, "tensors": ["*.weight"] }])))]
    pub value_range: Option<Box<ValueRange>>,
    /// An order of the examples from easy to hard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "first_share": 0.3, "steps": 50 }])))]
    pub curriculum: Option<Curriculum>,
    /// Trains each step on those of its examples with the smallest losses, against wrong labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "forget_rate": 0.2 }])))]
    pub small_loss_selection: Option<SmallLossSelection>,
    /// Noise that protects single examples. It requires `gradient_clipping.per_example_norm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "noise_multiplier": 1.1 }])))]
    pub example_privacy: Option<ExamplePrivacy>,
    /// Passes over the local examples, at least 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [1])))]
    pub epochs: u32,
    /// Stops after this many steps, even in the middle of an epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [1000])))]
    pub steps_max: Option<u32>,
    /// Stops after this many seconds of training, above 0, but not before the first step. The client sends what it has
    /// by then. It checks the clock between steps, about every 100 ms, and includes the time before a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [60.0])))]
    pub time_limit_seconds: Option<f32>,
    /// The number of examples per batch, at least 1. The last batch of an epoch may be smaller. If this exceeds the
    /// number of local examples, a batch contains all of them. With one epoch, this is FedSGD (McMahan et al. 2017,
    /// section 2).
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [32])))]
    pub batch_size: u32,
    /// The number of batches per step, from 1 to 1,000,000, whose gradients are accumulated. A step then has
    /// `batch_size` · this many examples, but needs only the memory of `batch_size`. The last step of an epoch may have
    /// fewer. Batch normalisation normalises each batch separately, and updates its running statistics after each.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000), extend("default" = 1)))]
    pub accumulation_steps: u32,
    /// The coefficient mu of FedProx: adds mu/2 · ‖w − w₀‖² to the loss (Li et al. 2020, equation 2). With 0, this is
    /// FedAvg.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
    pub proximal_term: f32,
    /// Patterns of tensor names. A tensor whose name matches one is not trained and does not travel. Each pattern must
    /// match at least one tensor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), extend("default" = [], "examples" = [["embedding.*"]])))]
    pub frozen: Vec<NamePattern>,
    /// Patterns of tensor names. A tensor whose name matches one is trained, even if it matches `frozen` too, or is a
    /// single number that is not trained by default. Each pattern must match at least one tensor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), extend("default" = [], "examples" = [["head.*"]])))]
    pub trained: Vec<NamePattern>,
    /// Patterns of tensor names. A tensor whose name matches one is personal: each client trains its own, which stays
    /// on the device and does not travel (FedPer, Arivazhagan et al. 2019, for the last layers; LG-FedAvg, Liang et al.
    /// 2020, for the first; FedBN, Li et al. 2021, for normalisations). The first training of a client starts with the
    /// values of the model's file, and each later training with the result of the previous one. Each pattern must match
    /// at least one tensor that is not frozen, and at least one tensor must match none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), extend("default" = [], "examples" = [["head.*"]])))]
    pub personal: Vec<NamePattern>,
    /// A training of weights that only the client keeps, before the training of the shared weights, or in the same
    /// steps. If it comes before, `steps_max` applies to each of the two, and `time_limit_seconds` to both together.
    /// With `p_fed_me`, `steps_max` counts batches. Without one, personal tensors are trained together with the others
    /// (FedPer).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "ditto": { "lambda": 0.1, "epochs": 1 } }])))]
    pub personal_training: Option<PersonalTraining>,
    /// A replica of the model that each client continues to train, and that moves toward the version as the version
    /// moves toward it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "alpha": 0.5 }])))]
    pub elastic_averaging: Option<ElasticAveraging>,
    /// A term of the loss that keeps the features of an example near to those in the version (MOON).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "features": "relu_1" }])))]
    pub model_contrast: Option<Box<ModelContrast>>,
    /// Several models instead of one: each client trains the one that fits its examples best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "count": 3 }])))]
    pub clusters: Option<Box<Clusters>>,
    /// Narrower models for weak devices: each client trains the widest one that fits its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "ratios": [1.0, 0.5, 0.25] }])))]
    pub widths: Option<Box<Widths>>,
    /// The treatment of the running statistics of batch normalisation.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = "aggregate")))]
    pub statistics: RunningStatistics,
    /// The numerical precision of a step.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = "single")))]
    pub precision: Precision,
    /// The maximum memory that training may use, in bytes. A step that needs more is refused before it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [2000000000])))]
    pub memory_bytes_max: Option<u64>,
}

impl TrainingPlan {
    /// Returns a plan of one epoch in batches of 32, with all other settings off.
    pub fn new(loss: Loss, optimizer: LocalOptimizer) -> Self {
        Self {
            loss,
            label_smoothing: 0.0,
            class_weights: Vec::new(),
            output: None,
            optimizer,
            learning_rate_schedule: LearningRateSchedule::Constant,
            warmup_steps: 0,
            warmup_from: None,
            learning_rate_factors: Vec::new(),
            gradient_clipping: None,
            sharpness_aware: None,
            augmentation: None,
            l1: None,
            value_range: None,
            curriculum: None,
            small_loss_selection: None,
            example_privacy: None,
            epochs: 1,
            steps_max: None,
            time_limit_seconds: None,
            batch_size: 32,
            accumulation_steps: 1,
            proximal_term: 0.0,
            frozen: Vec::new(),
            trained: Vec::new(),
            personal: Vec::new(),
            personal_training: None,
            elastic_averaging: None,
            model_contrast: None,
            clusters: None,
            widths: None,
            statistics: RunningStatistics::Aggregate,
            precision: Precision::Single,
            memory_bytes_max: None,
        }
    }

    /// Checks that every number is in its range.
    ///
    /// # Errors
    /// Returns the first [`PlanError`].
    pub fn validate(&self) -> Result<(), PlanError> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// Lists every number that is out of range.
    pub fn faults(&self) -> Vec<PlanError> {
        let mut faults = Faults::default();
        faults.expect_at_least_one("epochs", self.epochs.into());
        faults.expect_at_least_one("batch_size", self.batch_size.into());
        faults.expect_at_least_one("steps_max", self.steps_max.unwrap_or(u32::MAX).into());
        faults.expect_positive("time_limit_seconds", self.time_limit_seconds.unwrap_or(1.0));
        self.list_accumulation_faults(&mut faults);
        self.loss.list_faults(&mut faults);
        faults.expect_share("label_smoothing", self.label_smoothing);
        if self.label_smoothing > 0.0 && self.loss != Loss::SoftmaxCrossEntropy {
            faults.add(
                "label_smoothing",
                self.label_smoothing.into(),
                "absent, or the loss softmax_cross_entropy",
            );
        }
        self.list_class_weight_faults(&mut faults);
        let bytes = self.output.as_ref().map_or(1, String::len);
        if bytes == 0 || bytes > TENSOR_NAME_BYTES_MAX {
            faults.add("output", bytes as f64, "a name of 1 to 256 bytes");
        }
        self.optimizer.list_faults(&mut faults);
        if self.optimizer.needs_whole_tensors() && self.precision == Precision::Mixed {
            let allowed =
                "that of another optimizer with mixed precision, because only the CPU computes this one";
            faults.add("optimizer", self.optimizer.learning_rate().into(), allowed);
        }
        self.learning_rate_schedule.list_faults(&mut faults);
        list_warmup_faults(self.warmup_steps, self.warmup_from, &mut faults);
        let has_warmup = self.warmup_steps > 0;
        self.learning_rate_schedule.list_factor_faults(&self.learning_rate_factors, has_warmup, &mut faults);
        if let Some(clipping) = &self.gradient_clipping {
            clipping.list_faults(&mut faults);
        }
        if let Some(sharpness) = &self.sharpness_aware {
            sharpness.list_faults(self.gradient_clipping, self.precision, &mut faults);
        }
        if let Some(privacy) = &self.example_privacy {
            privacy.list_faults(self.gradient_clipping, self.accumulation_steps, &mut faults);
        }
        if let (Some(GradientClipping::PerExampleNorm(bound)), Precision::Mixed) =
            (self.gradient_clipping, self.precision)
        {
            faults.add("gradient_clipping.per_example_norm", bound.into(), "absent with mixed precision");
        }
        self.list_newton_faults(&mut faults);
        self.list_sophia_faults(&mut faults);
        self.list_local_rule_faults(&mut faults);
        let lists = [("frozen", &self.frozen), ("trained", &self.trained), ("personal", &self.personal)];
        for (field, patterns) in lists {
            faults.expect_patterns(field, patterns);
        }
        self.list_personal_faults(&mut faults);
        faults.expect_at_least_one("memory_bytes_max", self.memory_bytes_max.unwrap_or(u64::MAX));
        faults.0
    }

    /// Returns whether clients predict with different weights: with personal tensors, an own model, or the model of
    /// their cluster.
    pub fn is_personal(&self) -> bool {
        !self.personal.is_empty() || self.personal_training.is_some() || self.clusters.is_some()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_off(number: &f32) -> bool {
    *number == 0.0
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

mod contradictions;
mod cost;
#[cfg(test)]
mod local_rules_tests;
#[cfg(test)]
mod tests;
