use folkmoot_protocol::{limits::COUNT_MAX, update::UpdateMetrics};

/// Sums the metrics of several updates, in the given order. Counts saturate at [`COUNT_MAX`] and losses at the
/// largest float64, so that the sum can always be stored.
pub fn sum_metrics<'a>(metrics: impl IntoIterator<Item = &'a UpdateMetrics>) -> UpdateMetrics {
    let add = |sum: u64, one: u64| sum.saturating_add(one).min(COUNT_MAX);
    metrics.into_iter().fold(UpdateMetrics::default(), |sum, one| UpdateMetrics {
        example_count: add(sum.example_count, one.example_count),
        loss_sum: (sum.loss_sum + one.loss_sum).min(f64::MAX),
        correct_count: add(sum.correct_count, one.correct_count),
        step_count: add(sum.step_count, one.step_count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_never_passes_what_can_be_stored() {
        let one = UpdateMetrics {
            example_count: i64::MAX as u64,
            loss_sum: f64::MAX,
            correct_count: u64::MAX,
            step_count: 1,
        };
        let sum = sum_metrics([&one, &one]);
        assert_eq!((sum.example_count, sum.correct_count, sum.step_count), (COUNT_MAX, COUNT_MAX, 2));
        assert_eq!(sum.loss_sum, f64::MAX);
    }
}
