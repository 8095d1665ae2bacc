//! Student's t distribution, for intervals of means.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence level: the share of intervals that contain the true value if an experiment is repeated many times.
pub const CONFIDENCE: f64 = 0.95;

/// Returns the half-width of a mean's interval from the sample's standard deviation; `None` for a single value.
pub fn half_width(deviation: f64, count: usize) -> Option<f64> {
    let count = count as f64;
    (count > 1.0).then(|| quantile(count - 1.0) * deviation / count.sqrt())
}

/// Returns the half-width of the interval in standard errors.
pub fn quantile(freedom: f64) -> f64 {
    students_t(freedom).inverse_cdf(f64::midpoint(1.0, CONFIDENCE))
}

/// Returns the distribution with `freedom` degrees of freedom, which must be above 0.
pub fn students_t(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("degrees of freedom are above 0")
}
