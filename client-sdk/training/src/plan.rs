use folkmoot_engine as engine;
use folkmoot_protocol as protocol;
use folkmoot_protocol::messages::AbortReason;

use crate::WorkError;

/// Converts the training's metrics to the update's. With example privacy, they are not reported.
pub fn update_metrics(
    metrics: engine::Metrics,
    plan: &protocol::TrainingPlan,
) -> protocol::update::UpdateMetrics {
    if plan.example_privacy.is_some() {
        return protocol::update::UpdateMetrics::default();
    }
    protocol::update::UpdateMetrics {
        example_count: metrics.example_count,
        loss_sum: not_below_zero(metrics.loss_sum),
        correct_count: metrics.correct_count,
        step_count: metrics.step_count,
    }
}

/// Clamps rounding errors: the cosine loss of a perfect prediction can come out slightly below 0.
fn not_below_zero(loss_sum: f64) -> f64 {
    if loss_sum < 0.0 { 0.0 } else { loss_sum }
}

/// Refuses a loss below 0 of a model that computes its own loss, because the coordinator averages and compares losses.
///
/// # Errors
/// [`AbortReason::TrainingFailed`].
pub fn check_own_loss(metrics: engine::Metrics, plan: &protocol::TrainingPlan) -> Result<(), WorkError> {
    if plan.loss != protocol::Loss::ModelOutput || metrics.loss_sum >= 0.0 {
        return Ok(());
    }
    let detail = "the loss is below 0";
    Err(WorkError::new(AbortReason::TrainingFailed, detail))
}

/// Returns the schema of all parameters of a model. For a plan, use the schema of its [`engine::TrainedPart`].
pub fn schema_of(model: &engine::Model) -> protocol::TensorSchema {
    protocol::TensorSchema { tensors: model.parameters().iter().map(protocol::TensorSpec::from).collect() }
}
