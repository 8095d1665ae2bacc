//! The result of the app's own loop, turned into an outcome like the engine's.

use folkmoot_engine::{Metrics, TrainingOutcome};
use folkmoot_protocol::{Plan, Work, messages::AbortReason};

use crate::{Inputs, WorkError};

/// The result of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The new weights, flat, in the order and shapes of the model's tensors.
    pub weights: Vec<f32>,
    /// Sums over the training. `example_count` is also the update's weight in the mean, up to the plan's limit.
    pub metrics: Metrics,
}

/// Checks that the plan requires nothing that only the engine can guarantee.
///
/// # Errors
/// [`AbortReason::PlanUnsupported`] if it does.
pub fn allows_own_loop(plan: &Plan) -> Result<(), WorkError> {
    let detail = if plan.training.example_privacy.is_some() {
        "plan.example_privacy needs the engine: an app's own loop cannot guarantee the noise"
    } else if plan.drift_correction.is_some() {
        "plan.drift_correction needs the engine: an app's own loop cannot correct gradients"
    } else if plan.training.personal_training.is_some() {
        "plan.personal_training needs the engine: an app's own loop trains one model in one phase"
    } else if plan.training.elastic_averaging.is_some() {
        "plan.elastic_averaging needs the engine: an app's own loop cannot continue from a replica"
    } else if plan.training.model_contrast.is_some() {
        "plan.model_contrast needs the engine: an app's own loop does not know the features of other models"
    } else if plan.training.clusters.is_some() {
        "plan.clusters needs the engine: an app's own loop cannot measure the models of all clusters"
    } else {
        return Ok(());
    };
    Err(WorkError::new(AbortReason::PlanUnsupported, detail))
}

/// Returns the outcome of work in the app's own loop. The caller has checked the number of weights and the metrics.
///
/// # Errors
/// [`AbortReason::TrainingFailed`] if the weights of a training do not fit the model.
pub fn own_outcome(trained: Trained, inputs: &Inputs) -> Result<TrainingOutcome, WorkError> {
    let Trained { weights, metrics } = trained;
    if inputs.plan.work == Work::Evaluation {
        return Ok(TrainingOutcome::of_metrics(Metrics { step_count: 0, ..metrics }));
    }
    let delta = delta(&weights, inputs)?;
    Ok(TrainingOutcome { delta, weights, ..TrainingOutcome::of_metrics(metrics) })
}

/// Returns local weights minus starting weights, for the trained tensors only. Changes to other tensors are ignored.
fn delta(weights: &[f32], inputs: &Inputs) -> Result<Vec<f32>, WorkError> {
    let pairs = weights.iter().zip(&inputs.starting_weights);
    let whole: Vec<f32> = pairs.map(|(weight, start)| weight - start).collect();
    inputs.part().pick(&whole).map_err(|error| WorkError::new(AbortReason::TrainingFailed, error))
}
