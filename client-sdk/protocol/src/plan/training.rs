use serde::{Deserialize, Serialize};

use super::{
    Clusters, ExamplePrivacy, GradientClipping, LearningRateSchedule, LocalOptimizer, Loss, PersonalTraining,
    Precision, RunningStatistics,
    fault::{Faults, PlanError},
    learning_rate_schedule::list_warmup_faults,
    personal_training::PlanContext,
};
use crate::{
    NamePattern,
    limits::{FROZEN_PATTERNS_MAX, TENSOR_NAME_BYTES_MAX},
};

/// The maximum number of batches per step.
const ACCUMULATION_STEPS_MAX: u32 = 1_000_000;

/// The local training of a round: loss, optimizer and duration. Settings that are left out are off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TrainingPlan {
    /// The loss to minimise.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["softmax_cross_entropy"])))]
    pub loss: Loss,
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
    /// Patterns of tensor names. A tensor whose name matches one is personal: each client trains its own, which stays on
    /// the device and does not travel (FedPer, Arivazhagan et al. 2019, for the last layers; LG-FedAvg, Liang et al. 2020,
    /// for the first; FedBN, Li et al. 2021, for normalisations). The first training of a client starts with the values of
    /// the model's file, and each later one with those of the one before. Each pattern must match at least one tensor that
    /// is not frozen, and at least one tensor must match none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), extend("default" = [], "examples" = [["head.*"]])))]
    pub personal: Vec<NamePattern>,
    /// A training of what only the client keeps, before the training of the tensors that travel. `steps_max` applies to each
    /// of the two, and `time_limit_seconds` to both together. Without one, personal tensors are trained together with the
    /// others (FedPer).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "ditto": { "lambda": 0.1, "epochs": 1 } }])))]
    pub personal_training: Option<PersonalTraining>,
    /// Several models instead of one: each client trains the one that fits its examples best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "count": 3 }])))]
    pub clusters: Option<Clusters>,
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
            output: None,
            optimizer,
            learning_rate_schedule: LearningRateSchedule::Constant,
            warmup_steps: 0,
            warmup_from: None,
            learning_rate_factors: Vec::new(),
            gradient_clipping: None,
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
            clusters: None,
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
        let bytes = self.output.as_ref().map_or(1, String::len);
        if bytes == 0 || bytes > TENSOR_NAME_BYTES_MAX {
            faults.add("output", bytes as f64, "a name of 1 to 256 bytes");
        }
        self.optimizer.list_faults(&mut faults);
        self.learning_rate_schedule.list_faults(&mut faults);
        list_warmup_faults(self.warmup_steps, self.warmup_from, &mut faults);
        let has_warmup = self.warmup_steps > 0;
        self.learning_rate_schedule.list_factor_faults(&self.learning_rate_factors, has_warmup, &mut faults);
        if let Some(clipping) = &self.gradient_clipping {
            clipping.list_faults(&mut faults);
        }
        if let Some(privacy) = &self.example_privacy {
            privacy.list_faults(self.gradient_clipping, self.accumulation_steps, &mut faults);
        }
        if let (Some(GradientClipping::PerExampleNorm(bound)), Precision::Mixed) =
            (self.gradient_clipping, self.precision)
        {
            faults.add("gradient_clipping.per_example_norm", bound.into(), "absent with mixed precision");
        }
        faults.expect_not_negative("proximal_term", self.proximal_term);
        let lists = [("frozen", &self.frozen), ("trained", &self.trained), ("personal", &self.personal)];
        for (field, patterns) in lists {
            if patterns.len() > FROZEN_PATTERNS_MAX {
                faults.add(field, patterns.len() as f64, "a list of at most 64 patterns");
            }
            for pattern in patterns {
                let bytes = pattern.as_str().len();
                if bytes == 0 || bytes > TENSOR_NAME_BYTES_MAX {
                    faults.add(field, bytes as f64, "patterns of 1 to 256 bytes each");
                }
            }
        }
        let (is_divided, is_private) = (!self.personal.is_empty(), self.example_privacy.is_some());
        let keeps_statistics = self.statistics == RunningStatistics::KeepLocal;
        if let Some(personal) = self.personal_training {
            let context = PlanContext { is_divided, keeps_statistics, is_private };
            personal.list_faults(&context, &mut faults);
        }
        if let Some(clusters) = &self.clusters {
            let is_personal = is_divided || keeps_statistics || self.personal_training.is_some();
            clusters.list_faults(is_personal, is_private, &mut faults);
        }
        faults.expect_at_least_one("memory_bytes_max", self.memory_bytes_max.unwrap_or(u64::MAX));
        faults.0
    }

    /// Returns whether clients predict with different weights: with personal tensors, a model of their own, or that of a cluster.
    pub fn is_personal(&self) -> bool {
        !self.personal.is_empty() || self.personal_training.is_some() || self.clusters.is_some()
    }

    fn list_accumulation_faults(&self, faults: &mut Faults) {
        let (steps, field) = (self.accumulation_steps, "accumulation_steps");
        if !(1..=ACCUMULATION_STEPS_MAX).contains(&steps) {
            faults.add(field, steps.into(), "1 to 1000000");
        } else if steps > 1 && self.precision == Precision::Mixed {
            faults.add(field, steps.into(), "1 with mixed precision");
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"{"loss":"softmax_cross_entropy","optimizer":{"sgd":{"learning_rate":0.5}},"epochs":1,"batch_size":8}"#;
    const FULL: &str = r#"{
        "loss":{"huber":{"delta":0.5}},
        "output":"scores",
        "optimizer":{"adamw":{"learning_rate":0.5}},
        "learning_rate_schedule":{"cosine":{"final_factor":0.125,"steps":10}},
        "warmup_steps":3,
        "gradient_clipping":{"per_example_norm":1.5},
        "epochs":1,"batch_size":8,
        "time_limit_seconds":2.5,
        "accumulation_steps":4,
        "frozen":["encoder.*"],
        "statistics":"keep_local",
        "precision":"single",
        "memory_bytes_max":1000000
    }"#;

    #[test]
    fn what_is_left_out_is_off() {
        let plan: TrainingPlan = serde_json::from_str(MINIMAL).unwrap();
        let expected = TrainingPlan {
            batch_size: 8,
            ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.5))
        };
        assert_eq!(plan, expected);
        assert_eq!(plan.validate(), Ok(()));
        let json = serde_json::to_string(&plan).unwrap();
        for off in ["output", "warmup", "frozen", "personal", "time_limit", "accumulation", "privacy"] {
            assert!(!json.contains(off), "what is off is not written: {json}");
        }
        assert_eq!(serde_json::from_str::<TrainingPlan>(&json).unwrap(), plan);
    }

    #[test]
    fn everything_can_be_on() {
        let plan: TrainingPlan = serde_json::from_str(FULL).unwrap();
        assert_eq!(plan.validate(), Ok(()));
        assert_eq!(plan.gradient_clipping, Some(GradientClipping::PerExampleNorm(1.5)));
        assert_eq!(plan.statistics, RunningStatistics::KeepLocal);
        assert_eq!((plan.time_limit_seconds, plan.accumulation_steps), (Some(2.5), 4));
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<TrainingPlan>(&json).unwrap(), plan);
    }

    #[test]
    fn unknown_fields_are_refused() {
        for (from, to) in [("epochs", "epoch"), ("learning_rate", "rate"), ("sgd", "sgdd")] {
            assert!(serde_json::from_str::<TrainingPlan>(&MINIMAL.replace(from, to)).is_err(), "{to}");
        }
        let extended = MINIMAL.replace("0.5", "0.5,\"beta1\":0.5");
        assert!(serde_json::from_str::<TrainingPlan>(&extended).is_err());
        for (from, to) in [("delta", "gamma"), ("final_factor", "factor"), ("per_example_norm", "per_norm")] {
            assert!(serde_json::from_str::<TrainingPlan>(&FULL.replace(from, to)).is_err(), "{to}");
        }
    }

    #[test]
    fn every_fault_has_its_path() {
        let mut plan: TrainingPlan = serde_json::from_str(FULL).unwrap();
        let nothing = f32::NAN;
        plan.loss = Loss::Huber { delta: 0.0 };
        plan.output = Some("x".repeat(257));
        plan.optimizer = LocalOptimizer::AdamW {
            learning_rate: -1.0,
            beta1: 1.0,
            beta2: nothing,
            epsilon: 0.0,
            weight_decay: f32::INFINITY,
        };
        plan.learning_rate_schedule = LearningRateSchedule::Cosine { final_factor: -0.5, steps: 0 };
        plan.gradient_clipping = Some(GradientClipping::Value(0.0));
        plan.frozen = vec![NamePattern::from("")];
        plan.memory_bytes_max = Some(0);
        plan.time_limit_seconds = Some(0.0);
        plan.accumulation_steps = 0;
        let fields: Vec<&str> = plan.faults().iter().map(|fault| fault.field).collect();
        let expected = [
            "time_limit_seconds",
            "accumulation_steps",
            "loss.huber.delta",
            "output",
            "optimizer.adamw.learning_rate",
            "optimizer.adamw.beta1",
            "optimizer.adamw.beta2",
            "optimizer.adamw.epsilon",
            "optimizer.adamw.weight_decay",
            "learning_rate_schedule.cosine.final_factor",
            "learning_rate_schedule.cosine.steps",
            "gradient_clipping.value",
            "frozen",
            "memory_bytes_max",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn mixed_precision_has_neither_clipping_of_single_examples_nor_accumulation() {
        let mut plan: TrainingPlan = serde_json::from_str(&FULL.replace("single", "mixed")).unwrap();
        let fields: Vec<&str> = plan.faults().iter().map(|fault| fault.field).collect();
        assert_eq!(fields, ["accumulation_steps", "gradient_clipping.per_example_norm"]);
        plan.gradient_clipping = Some(GradientClipping::Norm(1.0));
        plan.accumulation_steps = 1;
        assert_eq!(plan.validate(), Ok(()));
    }

    #[test]
    fn the_limits_of_accumulation_and_time_are_allowed_and_what_is_beyond_is_not() {
        let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5));
        for (accumulation_steps, is_allowed) in [(1, true), (1_000_000, true), (1_000_001, false)] {
            let plan = TrainingPlan { accumulation_steps, ..plan.clone() };
            assert_eq!(plan.validate().is_ok(), is_allowed, "{accumulation_steps}");
        }
        for (seconds, is_allowed) in [(1e-3, true), (f32::MAX, true), (-1.0, false), (f32::INFINITY, false)] {
            let plan = TrainingPlan { time_limit_seconds: Some(seconds), ..plan.clone() };
            assert_eq!(plan.validate().is_ok(), is_allowed, "{seconds}");
        }
    }

    #[test]
    fn explicit_learning_rates_stand_alone_and_a_warmup_begins_somewhere_below_its_end() {
        let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5));
        let fields = |change: fn(&mut TrainingPlan)| -> Vec<&str> {
            let mut plan = plan.clone();
            change(&mut plan);
            plan.faults().iter().map(|fault| fault.field).collect()
        };
        assert!(fields(|plan| plan.learning_rate_factors = vec![0.0, 1.0, 2.5]).is_empty());
        assert_eq!(fields(|plan| plan.learning_rate_factors = vec![1.0, -0.5]), ["learning_rate_factors"]);
        assert_eq!(fields(|plan| plan.learning_rate_factors = vec![1.0; 4097]), ["learning_rate_factors"]);
        let both = |plan: &mut TrainingPlan| (plan.learning_rate_factors, plan.warmup_steps) = (vec![1.0], 2);
        assert_eq!(fields(both), ["learning_rate_factors"]);
        assert!(fields(|plan| (plan.warmup_from, plan.warmup_steps) = (Some(0.0), 2)).is_empty());
        assert_eq!(fields(|plan| (plan.warmup_from, plan.warmup_steps) = (Some(1.5), 2)), ["warmup_from"]);
        assert_eq!(fields(|plan| plan.warmup_from = Some(0.5)), ["warmup_from"]);
    }
}
