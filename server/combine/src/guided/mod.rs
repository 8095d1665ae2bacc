//! Aggregators that use the coordinator's own examples. The coordinator trains on the thread that computes the version,
//! with a seed that depends on the round and its updates. So a version that is computed again is the same, bit for bit.

mod fed_df;
mod fed_law;
mod fl_trust;

use folkmoot_aggregation::AggregatorChoice;
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Examples, Model, TrainedPart, Trainer};
use folkmoot_protocol::{LearningRateSchedule, Precision, RoundId, TrainingPlan};

use crate::{GuideError, MakeError, Rows};

/// The coordinator's own examples, and the model at the newest version.
pub struct OwnExamples {
    /// The model, with the output that the plan trains.
    pub model: Model,
    /// The tensors that travel.
    pub part: TrainedPart,
    /// All weights of the newest version, flat.
    pub weights: Vec<f32>,
    /// The examples.
    pub examples: Examples,
}

/// The inputs of a rule.
pub(super) struct Guide<'a> {
    pub description: &'a TaskDescription,
    pub own: &'a OwnExamples,
    pub round_id: RoundId,
    pub seed: u64,
    pub weights: &'a [u64],
    pub attenuations: &'a [f64],
}

/// Gets each tile of the updates and of the aggregate.
type Visit<'v> = dyn FnMut(&[&[f32]], &[f64]) + 'v;

/// Computes the aggregate of updates by the task's rule. Passes each tile of the updates and of the aggregate to `visit`.
pub(super) fn means(mut rows: Rows<'_>, guide: &Guide<'_>, visit: &mut Visit<'_>) -> Result<(), MakeError> {
    match &guide.description.aggregator {
        AggregatorChoice::FlTrust(_) => fl_trust::means(&mut rows, guide, visit),
        AggregatorChoice::FedLaw(rule) => fed_law::means(&mut rows, guide, rule, visit),
        AggregatorChoice::FedDf(rule) => fed_df::means(&mut rows, guide, rule, visit),
        _ => unreachable!("the other rules use no examples of the coordinator"),
    }
}

impl Guide<'_> {
    /// Returns the clients' plan for the coordinator, which has no GPU, reads no clock and has no last local model.
    fn plan(&self) -> TrainingPlan {
        let plan = self.description.client_training();
        TrainingPlan { precision: Precision::Single, time_limit_seconds: None, model_contrast: None, ..plan }
    }

    /// Returns the clients' plan without the settings that change gradients, or that choose and change examples. The
    /// coordinator's own objective has no such settings.
    fn plain_plan(&self) -> TrainingPlan {
        TrainingPlan {
            learning_rate_schedule: LearningRateSchedule::Constant,
            warmup_steps: 0,
            warmup_from: None,
            learning_rate_factors: Vec::new(),
            gradient_clipping: None,
            sharpness_aware: None,
            proximal_term: 0.0,
            augmentation: None,
            l1: None,
            value_range: None,
            curriculum: None,
            small_loss_selection: None,
            personal_training: None,
            ..self.plan()
        }
    }

    /// Returns the newest version.
    fn newest(&self) -> Result<Vec<f32>, GuideError> {
        Ok(self.own.part.pick(&self.own.weights)?)
    }

    /// Begins a training on these examples.
    fn trainer(
        &self,
        weights: &[f32],
        plan: TrainingPlan,
        examples: &Examples,
    ) -> Result<Trainer, GuideError> {
        Ok(Trainer::new(&self.own.model, weights, plan, examples, self.seed)?)
    }
}
