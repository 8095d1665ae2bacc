use folkmoot_storage::{AcceptedUpdate, TaskRecord};

/// Returns the factor that discounts each update for its staleness and the client's work.
pub fn attenuations(task: &TaskRecord, base_version: u64, accepted: &[AcceptedUpdate]) -> Vec<f64> {
    let policy = task.description.scheduling.policy();
    // Updates that are too old were dropped before acceptance.
    let attenuation = |update: &AcceptedUpdate| {
        policy.staleness_weight(base_version.saturating_sub(update.base_version)).unwrap_or(0.0)
    };
    let reports = accepted.iter().map(|update| (update.weight, update.metrics.step_count));
    let factors = task.description.work_factors(reports).into_iter();
    accepted.iter().map(attenuation).zip(factors).map(|(one, other)| one * other).collect()
}
