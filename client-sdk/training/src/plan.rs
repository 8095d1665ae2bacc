use folkmoot_engine as engine;
use folkmoot_protocol as protocol;

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

/// Returns the schema of all parameters of a model. For a plan, use the schema of its [`engine::TrainedPart`].
pub fn schema_of(model: &engine::Model) -> protocol::TensorSchema {
    protocol::TensorSchema { tensors: model.parameters().iter().map(protocol::TensorSpec::from).collect() }
}
