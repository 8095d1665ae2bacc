use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use crate::{
    Averages, Distances,
    byzantine_share::{count_of, expect_share},
};

/// The maximum number of updates in a round with mixing. Its work grows with the square of this number.
pub const MIXING_UPDATES_MAX: u64 = 1024;

/// Nearest-neighbour mixing: replaces each update by the mean of the n − f updates that are closest to it, itself included,
/// before a robust rule combines the updates.
///
/// Allouah, Farhadkhani, Guerraoui, Gupta, Pinot and Stephan 2023, "Fixing by mixing: a recipe for optimal Byzantine ML under
/// heterogeneity", algorithm 2. f = ⌊byzantine_share·n⌋ is the assumed number of hostile updates. Mixed updates differ less
/// from each other, so a robust rule drops less of the knowledge that only some honest clients have.
///
/// Weights and staleness are ignored. Among equally close updates, the lowest index counts. A mixed update is computed in
/// float64 and rounded to float32 once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mixing {
    /// The share of the updates that may be hostile, in [0, 0.5).
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 0.5, "examples" = [0.2])))]
    pub byzantine_share: f64,
}

impl Mixing {
    /// Lists the faults of the mixing for cohorts of at most `cohort_max` updates.
    pub fn validate(&self, cohort_max: u64, faults: &mut Vec<Fault>) {
        let remedy = "it must be 0 or above, and below 0.5";
        expect_share("mixing.byzantine_share", self.byzantine_share, remedy, faults);
        if cohort_max > MIXING_UPDATES_MAX {
            let message = format!("a cohort of {cohort_max} is too large to mix all updates");
            let remedy = format!("limit the cohort to {MIXING_UPDATES_MAX}, or remove [mixing]");
            faults.push(Fault::new("scheduling.report_goal", message, remedy));
        }
    }

    /// Returns the updates that are mixed into each update.
    pub(crate) fn neighbourhoods(&self, distances: &Distances) -> Averages {
        let updates = distances.count();
        let size = updates - count_of(self.byzantine_share, updates);
        let neighbours = |one: usize| {
            let mut others: Vec<usize> = (0..updates).collect();
            // An update is its own first neighbour, even if others are equal to it. `abs` clears the sign of a NaN.
            let distance =
                |other: usize| if other == one { -1.0 } else { distances.squared(one, other).abs() };
            others.sort_by(|a, b| distance(*a).total_cmp(&distance(*b)));
            others.truncate(size);
            others.sort_unstable();
            others
        };
        Averages::new((0..updates).map(neighbours))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(byzantine_share: f64, rows: &[&[f32]]) -> Vec<Vec<f32>> {
        let mut distances = Distances::new(rows.len());
        distances.add_tile(rows);
        let neighbourhoods = Mixing { byzantine_share }.neighbourhoods(&distances);
        neighbourhoods.average(rows, |mixed| mixed.iter().map(|row| row.to_vec()).collect())
    }

    #[test]
    fn each_update_becomes_the_mean_of_its_neighbours() {
        // n = 5 and f = 1: four updates are mixed. Each mixture leaves out 100, except the mixture of 100, which leaves
        // out 0.
        let rows: [&[f32]; 5] = [&[0.0], &[1.0], &[2.0], &[5.0], &[100.0]];
        assert_eq!(mixed(0.2, &rows), [[2.0], [2.0], [2.0], [2.0], [27.0]]);
    }

    #[test]
    fn without_hostile_updates_all_become_the_mean() {
        assert_eq!(mixed(0.0, &[&[1.0, 0.0], &[3.0, 2.0]]), [[2.0, 1.0]; 2]);
        assert_eq!(mixed(0.4, &[]), [[0.0; 0]; 0]);
        assert_eq!(mixed(0.4, &[&[7.0]]), [[7.0]]);
    }

    #[test]
    fn an_update_is_its_own_neighbour_among_equal_ones() {
        // n = 3 and f = 1: the last is mixed with itself and the first.
        assert_eq!(mixed(0.4, &[&[1.0], &[1.0], &[1.0]]), [[1.0]; 3]);
        assert_eq!(mixed(0.4, &[&[f32::NAN], &[1.0], &[2.0]])[1..], [[1.5], [1.5]]);
    }

    #[test]
    fn bad_shares_and_large_cohorts_are_refused() {
        let faults = |byzantine_share, cohort_max| {
            let mut faults = Vec::new();
            Mixing { byzantine_share }.validate(cohort_max, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!(faults(0.49, 1024), [""; 0]);
        assert_eq!(faults(0.5, 10), ["mixing.byzantine_share"]);
        assert_eq!(faults(0.1, 1025), ["scheduling.report_goal"]);
    }
}
