//! Krum and Multi-Krum.

mod multi_krum;

use folkmoot_protocol::Fault;
pub use multi_krum::MultiKrum;
use serde::{Deserialize, Serialize};

use crate::{
    Combination, Distances, Measured, Measurement,
    aggregator::Aggregator,
    byzantine_share::{Tolerance, count_of},
};

/// The maximum number of updates in a round of Krum or Multi-Krum. Work and memory grow with its square.
pub const KRUM_UPDATES_MAX: u64 = 4096;

/// Krum needs 2f + 3 updates.
const TOLERANCE: Tolerance = Tolerance {
    rule: "Krum",
    per_hostile: 2,
    updates_max: KRUM_UPDATES_MAX,
    others: "aggregator.kind = \"median\" or \"trimmed_mean\"",
};

/// Krum: selects the one update that is closest to its neighbours.
///
/// Blanchard et al. 2017, "Machine learning with adversaries: Byzantine tolerant gradient descent", section 4.
/// The score of an update is the sum of its n − f − 2 smallest squared distances to the others. f =
/// ⌊byzantine_share·n⌋ is the assumed number of hostile updates. The lowest score wins; among equal scores, the
/// lowest index.
///
/// Weights and staleness are ignored. If n − f − 2 is below 1, the score uses the distance to one neighbour. A single
/// update is selected unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Krum {
    /// The share of the updates that may be hostile, in [0, 0.5).
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 0.5, "examples" = [0.2])))]
    pub byzantine_share: f64,
}

impl Aggregator for Krum {
    fn measurement(&self) -> Measurement {
        Measurement::Distances
    }

    fn combination(&self, weights: &[u64], _attenuations: &[f64], measured: &Measured) -> Combination {
        choose(measured.distances(), count_of(self.byzantine_share, weights.len()), 1)
    }

    fn combined(&self, updates: u64) -> u64 {
        updates.min(1)
    }

    fn validate(&self, cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        TOLERANCE.expect_cohort(self.byzantine_share, cohort_min, cohort_max, faults);
    }
}

/// Returns the uniform mean of the `chosen` updates with the lowest scores.
pub(super) fn choose(distances: &Distances, byzantine: usize, chosen: usize) -> Combination {
    let scores = scores(distances, byzantine);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    // The sort is stable: among equal scores, the lowest index comes first.
    order.sort_by(|one, other| scores[*one].total_cmp(&scores[*other]));
    order.truncate(chosen);
    let mut factors = vec![0.0; scores.len()];
    order.iter().for_each(|index| factors[*index] = 1.0);
    Combination::mean(factors, order.len() as f64)
}

/// Computes the score of every update. Distances are summed in ascending order.
pub(super) fn scores(distances: &Distances, byzantine: usize) -> Vec<f64> {
    let updates = distances.count();
    let neighbours = updates.saturating_sub(byzantine + 2).max(1);
    let mut others = Vec::with_capacity(updates);
    let score = |one: usize| {
        others.clear();
        let rest = (0..updates).filter(|other| *other != one);
        // `abs` clears the sign of a NaN. A negative NaN would sort before all numbers.
        others.extend(rest.map(|other| distances.squared(one, other).abs()));
        others.sort_unstable_by(f64::total_cmp);
        others.iter().take(neighbours).sum::<f64>().abs()
    };
    (0..updates).map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(values: &[f32], byzantine: usize, chosen: usize) -> Vec<f64> {
        let mut distances = Distances::new(values.len());
        distances.add_tile(&values.chunks(1).collect::<Vec<_>>());
        match choose(&distances, byzantine, chosen) {
            Combination::Mean { factors, .. } => factors,
            _ => unreachable!("Krum is a mean"),
        }
    }

    #[test]
    fn the_closest_to_its_neighbours_is_chosen() {
        // With n = 5 and f = 1, each score sums 2 neighbours: 1 + 4, 1 + 1, 1 + 4, 81 + 100 …
        assert_eq!(factors(&[1.0, 2.0, 3.0, 12.0, -50.0], 1, 1), [0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(factors(&[1.0, 2.0, 3.0, 12.0, -50.0], 1, 2), [1.0, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn few_updates_are_defined() {
        assert_eq!(factors(&[], 0, 1), [] as [f64; 0]);
        assert_eq!(factors(&[7.0], 0, 1), [1.0]);
        assert_eq!(factors(&[7.0, 8.0], 0, 1), [1.0, 0.0]);
        assert_eq!(factors(&[0.0, 8.0, 9.0], 1, 1), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn what_is_no_number_is_never_the_closest() {
        assert_eq!(factors(&[f32::NAN, 1.0, 1.5, f32::INFINITY, 2.0], 1, 1), [0.0, 0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn cohorts_are_checked_at_every_size() {
        let faults = |share, cohort_min, cohort_max| {
            let mut faults = Vec::new();
            TOLERANCE.expect_cohort(share, cohort_min, cohort_max, &mut faults);
            faults.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(faults(0.2, 5, 20).is_empty());
        assert!(faults(0.4, 9, 9).is_empty());
        assert!(faults(0.4, 15, 4096).is_empty());
        assert_eq!(
            faults(0.4, 9, 12),
            [
                "aggregator.byzantine_share: it allows 4 hostile updates among 10, but Krum then needs at least 11 \
                 updates; lower byzantine_share, or require at least 15 updates for a commit"
            ]
        );
        assert!(
            faults(0.0, 2, 20)[0]
                .contains("0 hostile updates among 2, but Krum then needs at least 3 updates")
        );
        assert!(faults(0.1, 10, 4097)[0].starts_with("scheduling.report_goal: a cohort of 4097"));
        assert_eq!(faults(0.1, u64::MAX, u64::MAX).len(), 1);
        assert!(faults(0.5, 100, 100)[0].contains("it is 0.5"));
    }
}
