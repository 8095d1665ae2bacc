use folkmoot_protocol::{ValueGrid, update::UpdateMetrics};

use super::exact_sum::{add_values, scale};

/// There is no update, so there is no mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mean of no update is not defined")]
pub struct ZeroWeightError;

/// The weighted mean of updates, Σ wᵢ·Δᵢ / Σ wᵢ (McMahan et al. 2017, algorithm 1), as exact sums.
///
/// Its memory is 8 bytes a parameter, however many updates it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedMean {
    grid: ValueGrid,
    sums: Vec<i64>,
    weight: u64,
}

impl WeightedMean {
    /// Makes the mean of no updates of `parameter_count` values.
    pub fn new(grid: ValueGrid, parameter_count: usize) -> Self {
        Self { grid, sums: vec![0; parameter_count], weight: 0 }
    }

    /// Takes the sums that were folded elsewhere, with the weight that belongs to them.
    pub fn from_sums(grid: ValueGrid, sums: Vec<i64>, weight: u64) -> Self {
        Self { grid, sums, weight }
    }

    /// Adds a whole update: its values as little-endian float32.
    pub fn add(&mut self, values: &[u8], weight: u64) {
        add_values(&mut self.sums, values, scale(&self.grid, weight));
        self.weight += weight;
    }

    /// Returns Σ wᵢ.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Returns the mean in float64, one value a parameter, lazily.
    ///
    /// # Errors
    /// [`ZeroWeightError`] if no update was added.
    pub fn mean(&self) -> Result<impl Iterator<Item = f64> + '_, ZeroWeightError> {
        if self.weight == 0 {
            return Err(ZeroWeightError);
        }
        let divisor = scale(&self.grid, self.weight);
        Ok(self.sums.iter().map(move |&sum| sum as f64 / divisor))
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
    use super::*;

    #[test]
    fn the_mean_is_the_weighted_one() {
        let mut mean = WeightedMean::new(ValueGrid::default(), 2);
        assert_eq!(mean.mean().err(), Some(ZeroWeightError));
        let bytes = |values: [f32; 2]| values.map(f32::to_le_bytes).concat();
        mean.add(&bytes([1.0, -2.0]), 1);
        mean.add(&bytes([0.0, 2.0]), 3);
        assert_eq!(mean.mean().unwrap().collect::<Vec<_>>(), [0.25, 1.0]);
    }
}
