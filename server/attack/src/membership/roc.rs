//! Receiver operating characteristics of scores.

use serde::Serialize;

/// The rates of false positives at which the rate of true positives is reported. Few confident guesses are worse than many
/// that are slightly better than chance (Carlini et al. 2022, section III.C).
const LOW_RATES: [f64; 2] = [0.01, 0.001];

/// The quality of guesses of membership.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roc {
    /// The area under the curve: 0.5 is chance, 1 is certainty.
    pub auc: f64,
    /// The rate of true positives at 1 % false positives.
    pub true_positives_at_1_percent: f64,
    /// The rate of true positives at 0.1 % false positives.
    pub true_positives_at_0_1_percent: f64,
    /// The points of the curve: (rate of false positives, rate of true positives), from (0, 0) to (1, 1).
    #[serde(skip)]
    pub points: Vec<(f64, f64)>,
}

impl Roc {
    /// Computes the curve of scores, of which larger ones are guessed to be members. Each has its truth. Equal scores are
    /// guessed together. Returns `None` unless there are members and others.
    pub fn of(scores: &[(f64, bool)]) -> Option<Self> {
        let mut sorted: Vec<(f64, bool)> = scores.to_vec();
        sorted.sort_by(|one, other| other.0.total_cmp(&one.0));
        let members = sorted.iter().filter(|(_, is_member)| *is_member).count();
        let others = sorted.len() - members;
        if members == 0 || others == 0 {
            return None;
        }
        let (members, others) = (members as f64, others as f64);
        let (mut points, mut auc) = (vec![(0.0, 0.0)], 0.0);
        let (mut true_positives, mut false_positives) = (0.0, 0.0);
        for tied in sorted.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq()) {
            let hits = tied.iter().filter(|(_, is_member)| *is_member).count() as f64;
            let misses = tied.len() as f64 - hits;
            // The trapezium between the two points counts a tie as half.
            auc += misses / others * (true_positives + hits / 2.0) / members;
            true_positives += hits;
            false_positives += misses;
            points.push((false_positives / others, true_positives / members));
        }
        let at = |rate: f64| {
            let reached = points.iter().filter(|(false_positives, _)| *false_positives <= rate);
            reached.map(|(_, true_positives)| *true_positives).fold(0.0, f64::max)
        };
        let [one_percent, a_tenth] = LOW_RATES.map(at);
        Some(Self {
            auc,
            true_positives_at_1_percent: one_percent,
            true_positives_at_0_1_percent: a_tenth,
            points,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_the_share_of_pairs_in_order() {
        // Members 0.9, 0.6, 0.4; others 0.7, 0.4. Of the six pairs, 0.9 wins two, 0.6 wins one and loses one, 0.4 loses
        // one and ties one: (2 + 1 + 0.5) / 6.
        let scores = [(0.9, true), (0.6, true), (0.4, true), (0.7, false), (0.4, false)];
        let roc = Roc::of(&scores).unwrap();
        assert!((roc.auc - 3.5 / 6.0).abs() < 1e-12, "{}", roc.auc);
        let third = 1.0 / 3.0;
        assert_eq!(roc.points, [(0.0, 0.0), (0.0, third), (0.5, third), (0.5, 2.0 * third), (1.0, 1.0)]);
        assert!((roc.true_positives_at_1_percent - third).abs() < 1e-12);
        assert!((roc.true_positives_at_0_1_percent - third).abs() < 1e-12);
    }

    #[test]
    fn chance_and_certainty_have_their_areas() {
        assert!((Roc::of(&[(1.0, true), (1.0, false)]).unwrap().auc - 0.5).abs() < 1e-12);
        assert!((Roc::of(&[(1.0, true), (0.0, false)]).unwrap().auc - 1.0).abs() < 1e-12);
        assert!(Roc::of(&[(0.0, true), (1.0, false)]).unwrap().auc.abs() < 1e-12);
        assert_eq!(Roc::of(&[(0.0, true)]), None);
        // 1,000 others, of which two are above all members but one: a false positive is allowed at 0.1 %, ten at 1 %.
        let mut scores = vec![(9.0, true), (8.0, false), (7.0, true), (6.0, false), (5.0, true)];
        scores.extend((0..998).map(|_| (0.0, false)));
        let roc = Roc::of(&scores).unwrap();
        assert!((roc.true_positives_at_0_1_percent - 2.0 / 3.0).abs() < 1e-12, "{roc:?}");
        assert!((roc.true_positives_at_1_percent - 1.0).abs() < 1e-12);
    }
}
