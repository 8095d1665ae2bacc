//! The sums of the clients' metrics.

mod evaluation_sum;
mod float_sum;
mod sum_metrics;

pub use evaluation_sum::EvaluationSum;
pub use sum_metrics::sum_metrics;
