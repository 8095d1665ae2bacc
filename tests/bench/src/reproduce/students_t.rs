//! Student's t distribution, for intervals of means.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How often an interval contains the true value, over many repetitions of an experiment.
pub const CONFIDENCE: f64 = 0.95;

/// Returns half of a mean's interval, from the sample's deviation; `None` of one value.
pub fn half_width(deviation: f64, count: usize) -> Option<f64> {
    let count = count as f64;
    (count > 1.0).then(|| quantile(count - 1.0) * deviation / count.sqrt())
}

/// Returns how many standard errors the interval goes to either side.
pub fn quantile(freedom: f64) -> f64 {
    students_t(freedom).inverse_cdf(f64::midpoint(1.0, CONFIDENCE))
}

/// Returns the distribution with so many degrees of freedom, above 0.
pub fn students_t(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("degrees of freedom are above 0")
}
