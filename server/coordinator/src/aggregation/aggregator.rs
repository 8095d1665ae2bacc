use super::{Combination, Measured, Measurement};
use crate::fault::Fault;

/// One way to combine updates: what each variant of [`super::AggregatorChoice`] must say.
pub(super) trait Aggregator {
    /// Says whether an update's factor is known from the update alone.
    fn is_streaming(&self) -> bool {
        false
    }

    /// Says what has to be measured first.
    fn measurement(&self) -> Measurement {
        Measurement::None
    }

    /// Says how the updates are combined; see [`super::AggregatorChoice::combination`].
    fn combination(&self, weights: &[u64], attenuations: &[f64], measured: &Measured) -> Combination;

    /// Returns how many of `updates` updates are in the result.
    fn combined(&self, updates: u64) -> u64 {
        updates
    }

    /// Lists what is wrong with it for cohorts of these sizes.
    fn validate(&self, _cohort_min: u64, _cohort_max: u64, _faults: &mut Vec<Fault>) {}
}
