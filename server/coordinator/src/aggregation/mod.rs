//! How updates become one aggregate.
//!
//! A choice that is streaming can be summed while updates arrive. The others see all updates at once, but only
//! one range of parameters at a time: first what has to be measured over all of them (norms, distances), then the
//! combination itself. Memory depends on the tile and the number of updates, never on the model.

mod aggregator;
mod bounded_mean;
mod byzantine_share;
mod combination;
mod coordinate_rule;
mod distances;
mod exact_mean;
pub mod exact_sum;
mod extent;
mod krum;
#[cfg(test)]
mod laws;
mod measurement;
mod median;
mod multi_krum;
mod norm_bound;
mod norms;
#[cfg(test)]
mod robust_cases;
mod squares;
mod sum_metrics;
mod trimmed_mean;
mod uniform_mean;
mod weighted_mean;

use aggregator::Aggregator;
pub use bounded_mean::BoundedMean;
pub use combination::Combination;
pub use coordinate_rule::CoordinateRule;
pub use distances::Distances;
pub use exact_mean::{ExactMean, ZeroDivisorError};
pub use extent::Extent;
pub use krum::{KRUM_UPDATES_MAX, Krum};
pub use measurement::{Measured, Measurement};
pub use multi_krum::MultiKrum;
pub use norm_bound::NormBound;
pub use norms::Norms;
use serde::{Deserialize, Deserializer, Serialize};
pub use squares::BLOCK;
pub use sum_metrics::sum_metrics;
pub use trimmed_mean::TrimmedMean;

use crate::fault::Fault;

/// The aggregator of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AggregatorChoice {
    /// Σ wᵢ·Δᵢ / Σ wᵢ, exactly (McMahan et al. 2017, algorithm 1).
    #[serde(deserialize_with = "no_field")]
    WeightedMean,
    /// The weighted mean in which no update counts for much more than the others of its round.
    BoundedMean(BoundedMean),
    /// The mean in which every update counts alike.
    #[serde(deserialize_with = "no_field")]
    UniformMean,
    /// The middle of each coordinate. One client moves no parameter by more than an honest client can.
    #[serde(deserialize_with = "no_field")]
    Median,
    /// The mean of each coordinate without its extremes. One client moves no parameter by more than an honest client can.
    TrimmedMean(TrimmedMean),
    /// The one update that lies closest to the others.
    Krum(Krum),
    /// The mean of the updates that lie closest to the others.
    MultiKrum(MultiKrum),
    /// The weighted mean of updates that are scaled down to a norm.
    NormBound(NormBound),
}

impl Default for AggregatorChoice {
    /// Bounds every client: a default must not give the model to one of them.
    fn default() -> Self {
        AggregatorChoice::BoundedMean(BoundedMean::default())
    }
}

impl AggregatorChoice {
    /// Says whether the sum can be made while updates arrive: an update's factor is known from it alone, or that of few
    /// changes when the round closes.
    ///
    /// The factor is what [`AggregatorChoice::combination`] gives for that one update while nothing was measured.
    pub fn is_streaming(&self) -> bool {
        self.aggregator().is_streaming()
    }

    /// Returns the factor with which an update of this weight is summed while it arrives; 1 where the choice is not
    /// streaming, and nothing is.
    pub fn arrival_factor(&self, weight: u64) -> f64 {
        match self.is_streaming().then(|| self.combination(&[weight], &[1.0], &Measured::None)) {
            Some(Combination::Mean { factors, .. }) => factors[0],
            _ => 1.0,
        }
    }

    /// Says what has to be measured over all updates before [`AggregatorChoice::combination`].
    pub fn measurement(&self) -> Measurement {
        self.aggregator().measurement()
    }

    /// Says how n updates are combined.
    ///
    /// `weights[i]` is the weight of update i and `attenuations[i]`, in (0, 1], what staleness leaves of it.
    /// The means multiply both and divide by the weights alone, so that stale updates move the model less and do
    /// not make the others count more (FedBuff: Nguyen et al. 2022, algorithm 1). Medians, trimmed means and
    /// Krum know neither.
    ///
    /// # Panics
    /// If `measured` is not what [`AggregatorChoice::measurement`] asks for, over as many updates.
    pub fn combination(&self, weights: &[u64], attenuations: &[f64], measured: &Measured) -> Combination {
        self.aggregator().combination(weights, attenuations, measured)
    }

    /// Returns how many of `updates` updates are in the result: rules that choose leave others out. A median counts all, though
    /// each of its coordinates is that of one or two.
    pub fn combined(&self, updates: u64) -> u64 {
        self.aggregator().combined(updates)
    }

    /// Lists what is wrong with the choice for cohorts of `cohort_min` to `cohort_max` updates.
    pub(crate) fn validate(&self, cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        self.aggregator().validate(cohort_min, cohort_max, faults);
    }

    fn aggregator(&self) -> &dyn Aggregator {
        match self {
            AggregatorChoice::WeightedMean => &weighted_mean::WeightedMean,
            AggregatorChoice::BoundedMean(aggregator) => aggregator,
            AggregatorChoice::UniformMean => &uniform_mean::UniformMean,
            AggregatorChoice::Median => &median::Median,
            AggregatorChoice::TrimmedMean(aggregator) => aggregator,
            AggregatorChoice::Krum(aggregator) => aggregator,
            AggregatorChoice::MultiKrum(aggregator) => aggregator,
            AggregatorChoice::NormBound(aggregator) => aggregator,
        }
    }
}

/// Refuses fields beside `kind`; a variant without fields would let them pass.
fn no_field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NoField {}
    NoField::deserialize(deserializer).map(|NoField {}| ())
}
