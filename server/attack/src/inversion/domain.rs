use folkmoot_engine::Examples;

/// The range of each feature. An attacker knows it: the bounds of pixels, or the limits in a table's schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// The least value of each feature.
    pub low: Vec<f32>,
    /// The largest value of each feature.
    pub high: Vec<f32>,
}

impl Domain {
    /// Returns the range of the features of these examples. With `is_shared`, all features have the range of all together,
    /// as the pixels of a picture do. Otherwise a feature that never changes would give itself away.
    pub fn of(examples: &Examples, is_shared: bool) -> Self {
        let width: usize = examples.feature_shape().iter().product();
        let (mut low, mut high) = (vec![f32::INFINITY; width], vec![f32::NEG_INFINITY; width]);
        for row in examples.features().chunks_exact(width) {
            for ((value, low), high) in row.iter().zip(&mut low).zip(&mut high) {
                *low = low.min(*value);
                *high = high.max(*value);
            }
        }
        if is_shared {
            let least = low.iter().copied().fold(f32::INFINITY, f32::min);
            let largest = high.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            low.fill(least);
            high.fill(largest);
        }
        Self { low, high }
    }

    /// Returns the number of features.
    pub fn width(&self) -> usize {
        self.low.len()
    }

    /// Returns the length of a feature's range; 1 if the feature never changes.
    pub fn length(&self, feature: usize) -> f64 {
        let length = f64::from(self.high[feature]) - f64::from(self.low[feature]);
        if length > 0.0 { length } else { 1.0 }
    }

    /// Returns the value at a share of a feature's range, limited to the range.
    pub fn at(&self, feature: usize, share: f64) -> f32 {
        let (low, high) = (self.low[feature], self.high[feature]);
        let value = f64::from(low) + share * (f64::from(high) - f64::from(low));
        (value as f32).clamp(low, high)
    }

    /// Returns the mean squared error of a reconstruction, in units of the features' ranges: 0 is exact, and 1 is the
    /// opposite end of every range.
    pub fn squared_error(&self, truth: &[f32], found: &[f32]) -> f64 {
        let pairs = truth.iter().zip(found).enumerate();
        let errors = pairs.map(|(feature, (truth, found))| {
            ((f64::from(*truth) - f64::from(*found)) / self.length(feature)).powi(2)
        });
        errors.sum::<f64>() / (self.width().max(1) as f64)
    }
}

/// The largest peak signal-to-noise ratio that is reported, in dB. Larger ratios are reported as this value.
pub const PSNR_MAX: f64 = 100.0;

/// Returns the peak signal-to-noise ratio of a squared error in units of the range, in dB, at most [`PSNR_MAX`].
pub fn psnr(squared_error: f64) -> f64 {
    (-10.0 * squared_error.log10()).min(PSNR_MAX)
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::Labels;

    use super::*;

    #[test]
    fn errors_are_in_units_of_the_range() {
        let rows = vec![0.0, 10.0, 5.0, 4.0, 30.0, 5.0];
        let examples = Examples::new(rows, vec![3], Labels::Classes(vec![0, 1])).unwrap();
        let own = Domain::of(&examples, false);
        assert_eq!((own.low.as_slice(), own.high.as_slice()), (&[0.0, 10.0, 5.0][..], &[4.0, 30.0, 5.0][..]));
        // ((4 / 4)² + (10 / 20)² + 0²) / 3 = 1.25 / 3.
        let error = own.squared_error(&[0.0, 10.0, 5.0], &[4.0, 20.0, 5.0]);
        assert!((error - 1.25 / 3.0).abs() < 1e-12, "{error}");
        assert_eq!((own.at(1, 0.5), own.at(1, 7.0), own.at(2, 0.3)), (20.0, 30.0, 5.0));
        let shared = Domain::of(&examples, true);
        assert_eq!((shared.low[2], shared.high[0]), (0.0, 30.0));
        // −10·log10(0.01) = 20.
        assert!((psnr(0.01) - 20.0).abs() < 1e-12);
        assert!((psnr(0.0) - PSNR_MAX).abs() < 1e-12);
    }
}
