//! How updates become one aggregate.

pub mod exact_sum;
mod weighted_mean;

use serde::{Deserialize, Serialize};
pub use weighted_mean::{WeightedMean, ZeroWeightError, sum_metrics};

/// The aggregator of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AggregatorChoice {
    /// Σ wᵢ·Δᵢ / Σ wᵢ, exactly (McMahan et al. 2017, algorithm 1).
    #[default]
    WeightedMean,
}
