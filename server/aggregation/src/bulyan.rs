use std::iter;

use folkmoot_protocol::{Fault, saturating::to_length};
use serde::{Deserialize, Serialize};

use super::{
    Combination, CoordinateRule, Distances, Measured, Measurement,
    aggregator::Aggregator,
    byzantine_share::{Tolerance, count_of},
};

/// The maximum number of updates in a round of Bulyan. Its work grows with the cube of this number.
pub const BULYAN_UPDATES_MAX: u64 = 1024;

/// Bulyan over Krum needs 4f + 3 updates.
const TOLERANCE: Tolerance = Tolerance {
    rule: "Bulyan",
    per_hostile: 4,
    updates_max: BULYAN_UPDATES_MAX,
    others: "aggregator.kind = \"multi_krum\", \"median\" or \"trimmed_mean\"",
};

/// Bulyan: selects θ = n − 2f updates with Krum, one after another, and combines each coordinate of these.
///
/// El Mhamdi, Guerraoui and Rouault 2018, "The hidden vulnerability of distributed learning in Byzantium", section 4, with
/// Krum as the inner rule. f = ⌊byzantine_share·n⌋ is the assumed number of hostile updates; n must be at least 4f + 3.
/// After each selection, the scores are computed again among the updates that are left. The result of a coordinate is the
/// mean of the β = θ − 2f selected values that are closest to their median.
///
/// At least θ − f ≥ β selected updates are honest. So every value in the mean is as close to the median as the value of some
/// honest update, and the median lies within the range of the honest values.
///
/// Weights and staleness are ignored. With fewer than 4f + 3 updates, θ and β are at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bulyan {
    /// The share of the updates that may be hostile, in [0, 0.25).
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 0.25, "examples" = [0.1])))]
    pub byzantine_share: f64,
}

impl Bulyan {
    /// Returns the number of selected updates (θ) out of `updates`.
    fn selected_of(&self, updates: usize) -> usize {
        updates - 2 * count_of(self.byzantine_share, updates)
    }
}

impl Aggregator for Bulyan {
    fn measurement(&self) -> Measurement {
        Measurement::Distances
    }

    fn combination(&self, weights: &[u64], _attenuations: &[f64], measured: &Measured) -> Combination {
        let byzantine = count_of(self.byzantine_share, weights.len());
        let chosen = select(measured.distances(), byzantine, self.selected_of(weights.len()));
        let count = chosen.len().saturating_sub(2 * byzantine).max(1);
        Combination::ChosenPerCoordinate { chosen, rule: CoordinateRule::NearMedian { count } }
    }

    fn combined(&self, updates: u64) -> u64 {
        updates.min(self.selected_of(to_length(updates)) as u64)
    }

    fn validate(&self, cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        TOLERANCE.expect_cohort(self.byzantine_share, cohort_min, cohort_max, faults);
    }
}

/// Selects `count` updates. Each has the lowest Krum score among the updates that are left; among equal scores, the lowest
/// index.
pub(super) fn select(distances: &Distances, byzantine: usize, count: usize) -> Vec<usize> {
    let updates = distances.count();
    let mut left: Vec<usize> = (0..updates).collect();
    let mut neighbours: Vec<Vec<(f64, usize)>> =
        left.iter().map(|one| neighbours_of(distances, *one)).collect();
    let next = iter::from_fn(|| {
        let nearest = left.len().saturating_sub(byzantine + 2).max(1);
        let score =
            |one: &usize| neighbours[*one].iter().take(nearest).map(|(square, _)| square).sum::<f64>().abs();
        let place = (0..left.len()).min_by(|a, b| score(&left[*a]).total_cmp(&score(&left[*b])))?;
        let selected = left.remove(place);
        neighbours.iter_mut().for_each(|others| others.retain(|(_, other)| *other != selected));
        Some(selected)
    });
    next.take(count).collect()
}

/// Returns the squared distances of an update to all others, in ascending order, with the others' indices.
fn neighbours_of(distances: &Distances, one: usize) -> Vec<(f64, usize)> {
    let others = (0..distances.count()).filter(|other| *other != one);
    // `abs` clears the sign of a NaN. A negative NaN would sort before all numbers.
    let mut others: Vec<(f64, usize)> =
        others.map(|other| (distances.squared(one, other).abs(), other)).collect();
    others.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AggregatorChoice;

    fn selected(values: &[f32], byzantine: usize, count: usize) -> Vec<usize> {
        let mut distances = Distances::new(values.len());
        distances.add_tile(&values.chunks(1).collect::<Vec<_>>());
        select(&distances, byzantine, count)
    }

    #[test]
    fn updates_are_selected_one_after_another() {
        // With n = 7 and f = 1, a score sums 4 neighbours: 2 wins with 1 + 1 + 4 + 4 = 10. Among the other 6, it sums 3: 1 has
        // 1 + 4 + 9 = 14, as has 3, so the lower index is next. Among the other 5, it sums 2: 4 has 1 + 16 = 17, 3 has 1 + 9.
        assert_eq!(selected(&[0.0, 1.0, 2.0, 3.0, 4.0, 100.0, -80.0], 1, 3), [2, 1, 3]);
        assert_eq!(selected(&[7.0], 0, 1), [0]);
        assert_eq!(selected(&[], 0, 0), [] as [usize; 0]);
        assert_eq!(selected(&[1.0, 1.0], 0, 9), [0, 1], "no more than there are");
    }

    #[test]
    fn what_is_no_number_is_selected_after_numbers() {
        assert_eq!(selected(&[f32::NAN, 1.0, 1.5, 2.0], 0, 2), [2, 1]);
    }

    #[test]
    fn the_mean_is_of_the_values_near_the_median() {
        // n = 7 and f = 1: the five updates without 5 and 6 are selected, and β is 3.
        let rows: Vec<[f32; 2]> =
            vec![[0.0, 9.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [5.0, 3.0], [100.0, 0.0], [-80.0, 0.0]];
        let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
        let choice = AggregatorChoice::Bulyan(Bulyan { byzantine_share: 0.2 });
        assert_eq!(choice.combine_whole(&[1; 7], &rows), [2.0, 0.0]);
    }

    #[test]
    fn cohorts_below_4f_plus_3_are_refused() {
        let faults = |byzantine_share, cohort_min, cohort_max| {
            let mut faults = Vec::new();
            Bulyan { byzantine_share }.validate(cohort_min, cohort_max, &mut faults);
            faults.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(faults(0.1, 5, 100).is_empty());
        assert!(faults(0.2, 15, 100).is_empty());
        assert_eq!(
            faults(0.2, 9, 12),
            [
                "aggregator.byzantine_share: it allows 2 hostile updates among 10, but Bulyan then needs at least 11 \
                 updates; lower byzantine_share, or require at least 15 updates for a commit"
            ]
        );
        assert!(faults(0.25, 100, 100)[0].contains("it is 0.25; it must be 0 or above, and below 0.25"));
        assert!(
            faults(0.1, 10, 1025)[0].starts_with("scheduling.report_goal: a cohort of 1025 is too large")
        );
    }
}
