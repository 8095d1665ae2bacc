use folkmoot_protocol::{ValueGrid, update::UpdateMetrics};

use super::exact_sum::scale;

/// There is no update, so there is no mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mean of no update is not defined")]
pub struct ZeroWeightError;

/// The weighted mean of updates, Σ wᵢ·Δᵢ / Σ wᵢ (McMahan et al. 2017, algorithm 1), over exact sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedMean {
    divisor: f64,
}

impl WeightedMean {
    /// Makes the mean of updates that weigh `weights` together.
    ///
    /// # Errors
    /// [`ZeroWeightError`] if they weigh nothing.
    pub fn new(grid: &ValueGrid, weights: u64) -> Result<Self, ZeroWeightError> {
        if weights == 0 { Err(ZeroWeightError) } else { Ok(Self { divisor: scale(grid, weights) }) }
    }

    /// Returns the mean of one parameter from its sum on the grid.
    pub fn of(&self, sum: i64) -> f64 {
        sum as f64 / self.divisor
    }
}

/// Sums of the metrics of several updates, in the order in which they are given.
pub fn sum_metrics<'a>(metrics: impl IntoIterator<Item = &'a UpdateMetrics>) -> UpdateMetrics {
    metrics.into_iter().fold(UpdateMetrics::default(), |sum, one| UpdateMetrics {
        example_count: sum.example_count.saturating_add(one.example_count),
        loss_sum: sum.loss_sum + one.loss_sum,
        correct_count: sum.correct_count.saturating_add(one.correct_count),
        step_count: sum.step_count.saturating_add(one.step_count),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::exact_sum::add_values, *};

    #[test]
    fn the_mean_is_the_weighted_one() {
        let grid = ValueGrid::default();
        assert_eq!(WeightedMean::new(&grid, 0), Err(ZeroWeightError));
        let mut sums = [0; 2];
        let bytes = |values: [f32; 2]| values.map(f32::to_le_bytes).concat();
        add_values(&mut sums, &bytes([1.0, -2.0]), scale(&grid, 1));
        add_values(&mut sums, &bytes([0.0, 2.0]), scale(&grid, 3));
        let mean = WeightedMean::new(&grid, 4).unwrap();
        assert_eq!(sums.map(|sum| mean.of(sum)), [0.25, 1.0]);
    }
}
