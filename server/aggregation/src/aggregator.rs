use folkmoot_protocol::Fault;

use super::{Combination, LocalTraining, Measured, Measurement, Residuals};

/// One way to combine updates. Each variant of [`super::AggregatorChoice`] implements it.
pub(super) trait Aggregator {
    /// Returns whether updates can be summed while they arrive; see [`super::AggregatorChoice::is_streaming`].
    fn is_streaming(&self) -> bool {
        false
    }

    /// Returns the measurement over all updates that must precede their combination.
    fn measurement(&self) -> Measurement {
        Measurement::None
    }

    /// Returns the number of times that [`Aggregator::refine`] follows [`Aggregator::combination`].
    fn refinements(&self) -> u32 {
        0
    }

    /// Returns the rule that combines the updates; see [`super::AggregatorChoice::combination`]. If the rule is refined,
    /// this is its start.
    fn combination(&self, weights: &[u64], attenuations: &[f64], measured: &Measured) -> Combination;

    /// Returns the factors of the updates for the losses of their clients. They multiply the attenuations. `None` if the rule
    /// does not use losses, or no update has a weight.
    fn loss_factors(
        &self,
        _weights: &[u64],
        _training: &LocalTraining,
        _measured: &Measured,
    ) -> Option<Vec<f64>> {
        None
    }

    /// Returns the standard deviation of the noise that each parameter of the result gets; 0 for none.
    fn noise(&self, _measured: &Measured) -> f64 {
        0.0
    }

    /// Returns the next combination of an iterative rule, from the distances of all updates to the result of the last.
    fn refine(&self, residuals: &Residuals) -> Combination {
        residuals.around().clone()
    }

    /// Returns the number of updates, out of `updates`, that contribute to the result.
    fn combined(&self, updates: u64) -> u64 {
        updates
    }

    /// Lists the faults of this choice for cohorts of `cohort_min` to `cohort_max` updates.
    fn validate(&self, _cohort_min: u64, _cohort_max: u64, _faults: &mut Vec<Fault>) {}
}
