use folkmoot_protocol::ValueGrid;

/// The error for a divisor that is not positive: the mean is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the total weight of the updates is not above 0, so their mean is undefined; keep the model unchanged"
)]
pub struct ZeroDivisorError;

/// A mean over exact sums: the sum on the grid, divided by the total weight of the updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactMean {
    divisor: f64,
}

impl ExactMean {
    /// Creates a mean with this divisor. For a weighted mean, it is the sum of the weights.
    ///
    /// # Errors
    /// [`ZeroDivisorError`] if the divisor is not above 0 or not finite.
    pub fn new(grid: &ValueGrid, divisor: f64) -> Result<Self, ZeroDivisorError> {
        if !(divisor > 0.0 && divisor.is_finite()) {
            return Err(ZeroDivisorError);
        }
        Ok(Self { divisor: divisor * f64::from(grid.fraction_bits).exp2() })
    }

    /// Returns the mean of one parameter from its sum on the grid: sum / (divisor · 2^fraction_bits).
    pub fn of(&self, sum: i64) -> f64 {
        sum as f64 / self.divisor
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::exact_sum::{add_values, scale},
        *,
    };

    #[test]
    fn the_mean_is_the_weighted_one() {
        let grid = ValueGrid::default();
        assert!([0.0, -1.0, f64::NAN, f64::INFINITY].iter().all(|d| ExactMean::new(&grid, *d).is_err()));
        let mut sums = [0; 2];
        let bytes = |values: [f32; 2]| values.map(f32::to_le_bytes).concat();
        add_values(&mut sums, &bytes([1.0, -2.0]), scale(&grid, 1.0));
        add_values(&mut sums, &bytes([0.0, 2.0]), scale(&grid, 3.0));
        let mean = ExactMean::new(&grid, 4.0).unwrap();
        assert_eq!(sums.map(|sum| mean.of(sum)), [0.25, 1.0]);
    }

    #[test]
    fn an_integer_divisor_is_scaled_as_a_weight_is() {
        let grid = ValueGrid::default();
        for weights in [1, 3, 9_999, 123_456_789] {
            let mean = ExactMean::new(&grid, weights as f64).unwrap();
            for sum in [1, -7, i64::MAX / 3] {
                assert_eq!(mean.of(sum).to_bits(), (sum as f64 / scale(&grid, weights as f64)).to_bits());
            }
        }
    }
}
