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
        loss_sum: metrics.loss_sum,
        correct_count: metrics.correct_count,
        step_count: metrics.step_count,
    }
}

/// Says whether a plan's schema is the model's: count, names, shapes and order.
pub(super) fn is_schema_of(schema: &protocol::TensorSchema, model: &engine::Model) -> bool {
    *schema == schema_of(model)
}

/// Returns the schema of what a model trains.
pub fn schema_of(model: &engine::Model) -> protocol::TensorSchema {
    let tensors = model.parameters().iter().map(|parameter| protocol::TensorSpec {
        name: parameter.name.clone(),
        shape: parameter.shape.iter().map(|&dimension| dimension as u64).collect(),
    });
    protocol::TensorSchema { tensors: tensors.collect() }
}
