//! Mean and deviation of a stream of numbers.

/// Mean and variance, one value at a time (Welford 1962, "Note on a method for calculating corrected sums of squares
/// and products").
#[derive(Debug, Default)]
pub(crate) struct Moments {
    pub(crate) count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        let difference = value - self.mean;
        self.mean += difference / self.count as f64;
        self.squares += difference * (value - self.mean);
    }

    /// Returns the mean and the standard deviation; 1 if all values are equal.
    pub(crate) fn scale(&self) -> (f64, f64) {
        let deviation = (self.squares / self.count.max(1) as f64).sqrt();
        (self.mean, if deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 })
    }
}
