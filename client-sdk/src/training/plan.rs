use folkmoot_engine as engine;
use folkmoot_protocol as protocol;

/// Translates what the training measured into the update's words. With example privacy it is not told.
pub(super) fn update_metrics(
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

/// Rounding leaves the cosine loss of a perfect answer just below 0, where no loss is.
fn not_below_zero(loss_sum: f64) -> f64 {
    if loss_sum < 0.0 { 0.0 } else { loss_sum }
}

/// Returns the schema of all parameters of a model. A plan's is that of its [`engine::TrainedPart`].
pub fn schema_of(model: &engine::Model) -> protocol::TensorSchema {
    protocol::TensorSchema { tensors: model.parameters().iter().map(protocol::TensorSpec::from).collect() }
}
