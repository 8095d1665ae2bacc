use folkmoot_protocol::update::UpdateMetrics;

/// Sums the metrics of several updates, in the order in which they are given.
pub fn sum_metrics<'a>(metrics: impl IntoIterator<Item = &'a UpdateMetrics>) -> UpdateMetrics {
    metrics.into_iter().fold(UpdateMetrics::default(), |sum, one| UpdateMetrics {
        example_count: sum.example_count.saturating_add(one.example_count),
        loss_sum: sum.loss_sum + one.loss_sum,
        correct_count: sum.correct_count.saturating_add(one.correct_count),
        step_count: sum.step_count.saturating_add(one.step_count),
    })
}
