//! SignGuard, a filter on norms and signs before a mean.

mod mean_shift;

use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use crate::{Combination, Measured, Measurement, aggregator::Aggregator, measurement::lower_median};

/// The maximum number of updates in a round of SignGuard. The work of its clustering grows with the square of this number.
pub const SIGN_GUARD_UPDATES_MAX: u64 = 1024;

/// SignGuard: the mean of the updates with a usual norm and usual signs, scaled down to the median norm.
///
/// Xu, Huang, Song and Lan 2022, "Byzantine-robust federated learning through collaborative malicious gradient filtering",
/// algorithm 2, without its variants Sim and Dist. An update counts if it passes two filters:
///
/// 1. Its L2 norm is between `norm_ratio_min` and `norm_ratio_max` times M, the median norm of the round.
/// 2. Its shares of positive, zero and negative values, in a random sample of the coordinates, belong to the largest cluster of
///    all updates. As in the paper, mean shift finds the clusters: with a flat kernel, and the mean distance to the
///    ⌊n / 2⌋-th nearest update as the bandwidth.
///
/// The result is the unweighted mean of x·min(1, M/‖x‖) over these updates. It is 0 if there is none. M is the lower median, so
/// that half of the updates cannot raise it. The sample depends on the round and on the digests of all its updates, so no client
/// knows it before it sends its update.
///
/// Weights and staleness are ignored, because a hostile client reports its own weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SignGuard {
    /// The smallest norm of an update that counts, in multiples of the median norm, in [0, 1].
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub norm_ratio_min: f64,
    /// The largest norm of an update that counts, in multiples of the median norm; at least 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1.0)))]
    pub norm_ratio_max: f64,
    /// The share of the coordinates whose signs are compared, above 0 and at most 1. Raise it for models with fewer than a few
    /// thousand parameters.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub coordinate_share: f64,
}

impl Default for SignGuard {
    /// Returns the values of the paper's experiments.
    fn default() -> Self {
        Self { norm_ratio_min: 0.1, norm_ratio_max: 3.0, coordinate_share: 0.1 }
    }
}

impl Aggregator for SignGuard {
    fn measurement(&self) -> Measurement {
        Measurement::Signs { share: self.coordinate_share }
    }

    fn combination(&self, weights: &[u64], _attenuations: &[f64], measured: &Measured) -> Combination {
        let signs = measured.signs();
        let norms: Vec<f64> = (0..weights.len()).map(|index| signs.norms().squared(index).sqrt()).collect();
        let median = lower_median(norms.iter().copied());
        let usual = self.norm_ratio_min * median..=self.norm_ratio_max * median;
        let in_cluster = mean_shift::largest_cluster(&signs.shares());
        let passes = norms.iter().zip(in_cluster).map(|(norm, is_in)| is_in && usual.contains(norm));
        // A norm of 0 makes the quotient infinite or not a number, so the update keeps its length.
        let factor = |(norm, passes): (&f64, bool)| if passes { (median / norm).min(1.0) } else { 0.0 };
        let factors: Vec<f64> = norms.iter().zip(passes.clone()).map(factor).collect();
        Combination::mean(factors, passes.filter(|passes| *passes).count() as f64)
    }

    fn combined(&self, updates: u64) -> u64 {
        updates.min(1)
    }

    fn validate(&self, _cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        let mut expect = |is_right: bool, field: &str, value: f64, remedy: &str| {
            if !is_right {
                faults.push(Fault::new(field, format!("it is {value}"), remedy));
            }
        };
        let (least, most, share) = (self.norm_ratio_min, self.norm_ratio_max, self.coordinate_share);
        let is_least = (0.0..=1.0).contains(&least);
        expect(is_least, "aggregator.norm_ratio_min", least, "it must be 0 to 1; use 0.1 for most tasks");
        let is_most = most >= 1.0 && most.is_finite();
        expect(is_most, "aggregator.norm_ratio_max", most, "it must be at least 1; use 3 for most tasks");
        let is_share = share > 0.0 && share <= 1.0;
        let remedy = "it must be above 0 and at most 1; use 0.1, or 1 for a model with few parameters";
        expect(is_share, "aggregator.coordinate_share", share, remedy);
        if cohort_max > SIGN_GUARD_UPDATES_MAX {
            let message = format!("a cohort of {cohort_max} is too large to cluster all updates");
            let remedy = format!(
                "limit the cohort to {SIGN_GUARD_UPDATES_MAX}, or choose aggregator.kind = \"median\" or \"trimmed_mean\""
            );
            faults.push(Fault::new("scheduling.report_goal", message, remedy));
        }
    }
}

#[cfg(test)]
mod tests;
