//! FLAME, a clustering by directions before a clipped mean with noise.

mod majority;

use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use crate::{Combination, Measured, Measurement, aggregator::Aggregator, measurement::median};

/// The maximum number of updates in a round of FLAME. Work and memory grow with its square.
pub const FLAME_UPDATES_MAX: u64 = 4096;

/// The largest `noise_factor`. With this one, a parameter gets noise as large as the median norm of a whole update.
const NOISE_FACTOR_MAX: f64 = 1.0;

/// FLAME: the mean of the majority of updates with similar directions, scaled down to the median norm, with noise.
///
/// Nguyen et al. 2022, "FLAME: Taming backdoors in federated learning", algorithm 1:
///
/// 1. HDBSCAN clusters the updates by the cosine distances of all pairs. A cluster has at least ⌊n / 2⌋ + 1 updates, so there is at
///    most one, and `majority` says how it follows from the distances. All other updates are dropped.
/// 2. Each update x in the cluster becomes x·min(1, S/‖x‖). S is the median norm of all updates of the round, also of those that
///    were dropped.
/// 3. The result is the unweighted mean of these updates, and each parameter gets independent noise from N(0, (λ·S)²).
///
/// Two things differ from the paper:
///
/// - Distances are computed between updates. Algorithm 1 computes them between models, which differ less, because all
///   models contain the version from which they began.
/// - The noise comes from a seed, which depends on the round and on the digests of all its updates. So a version can be computed
///   again, and no client knows the noise before it sends its update.
///
/// **The noise gives no guarantee of differential privacy.** It is meant to weaken the rest of a backdoor. The paper derives
/// λ = √(2·ln(1.25/δ)) / ε as if each version were one Gaussian mechanism, but S follows from the updates themselves, and nobody adds
/// up what the versions reveal together.
///
/// Weights and staleness are ignored, because a hostile client reports its own weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Flame {
    /// λ, the standard deviation of the noise of each parameter, in multiples of the round's median norm, in [0, 1]. The paper has
    /// 0.001 for images and texts, and 0.01 for network traffic. 0 adds no noise.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub noise_factor: f64,
}

impl Default for Flame {
    /// Returns the value of the paper's experiments with images and texts.
    fn default() -> Self {
        Self { noise_factor: 0.001 }
    }
}

impl Aggregator for Flame {
    fn measurement(&self) -> Measurement {
        Measurement::Similarities
    }

    fn combination(&self, weights: &[u64], _attenuations: &[f64], measured: &Measured) -> Combination {
        let similarities = measured.similarities();
        let norm = |index: usize| similarities.norms().squared(index).sqrt();
        let median = median_norm(measured);
        let distance = |one: usize, other: usize| 1.0 - similarities.cosine(one, other);
        let in_cluster = majority::cluster(weights.len(), distance);
        let is_kept = |index: &usize| in_cluster[*index] && norm(*index).is_finite();
        // A norm of 0 makes the quotient infinite or not a number, so the update keeps its length.
        let factor = |index: usize| if is_kept(&index) { (median / norm(index)).min(1.0) } else { 0.0 };
        let kept = (0..weights.len()).filter(is_kept).count();
        Combination::mean((0..weights.len()).map(factor).collect(), kept as f64)
    }

    fn noise(&self, measured: &Measured) -> f64 {
        self.noise_factor * median_norm(measured)
    }

    fn combined(&self, updates: u64) -> u64 {
        majority::least(updates)
    }

    fn validate(&self, _cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        if !(0.0..=NOISE_FACTOR_MAX).contains(&self.noise_factor) {
            let message = format!("it is {}", self.noise_factor);
            let remedy = "it must be 0 to 1; use 0.001 for most tasks, or 0 for no noise";
            faults.push(Fault::new("aggregator.noise_factor", message, remedy));
        }
        if cohort_max > FLAME_UPDATES_MAX {
            let message = format!("a cohort of {cohort_max} is too large to compare all pairs of updates");
            let remedy = format!(
                "limit the cohort to {FLAME_UPDATES_MAX}, or choose aggregator.kind = \"median\" or \"trimmed_mean\""
            );
            faults.push(Fault::new("scheduling.report_goal", message, remedy));
        }
    }
}

/// Returns the median of the norms. Updates without a finite norm have no part.
fn median_norm(measured: &Measured) -> f64 {
    let norms = measured.similarities().norms();
    let norms = (0..norms.count()).map(|index| norms.squared(index).sqrt());
    median(norms.filter(|norm| norm.is_finite()))
}

#[cfg(test)]
mod tests;
