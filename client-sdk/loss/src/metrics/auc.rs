use std::ops::AddAssign;

use folkmoot_protocol::update::sums::SCORE_BUCKETS as BUCKETS;
use serde::{Deserialize, Serialize};

use super::add_counts;

/// The scores beyond ± this value count in the first or the last bucket.
const SCORE_MAX: f64 = 16.0;

/// Histograms of the scores of both classes. The counts can be added, and give the area under the ROC curve.
///
/// A score is a logit, or the difference of two logits. 1,024 buckets of width 1/32 cover −16 to 16. Two scores in the
/// same bucket count as equal, so the area differs from the exact one by at most [`ScoreHistogram::area_error`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreHistogram {
    /// Examples of class 1 in each bucket.
    pub positive: Vec<u64>,
    /// Examples of class 0 in each bucket.
    pub negative: Vec<u64>,
}

impl Default for ScoreHistogram {
    fn default() -> Self {
        Self { positive: vec![0; BUCKETS], negative: vec![0; BUCKETS] }
    }
}

impl ScoreHistogram {
    /// Returns the probability that an example of class 1 has a higher score than one of class 0, counting ties half
    /// (Hanley and McNeil 1982). Returns `None` if a class has no examples.
    pub fn area_under_curve(&self) -> Option<f64> {
        let mut below = 0.0;
        let mut won = 0.0;
        for (positive, negative) in self.positive.iter().zip(&self.negative) {
            let (positive, negative) = (*positive as f64, *negative as f64);
            won += positive * (below + negative / 2.0);
            below += negative;
        }
        self.pairs().map(|pairs| won / pairs)
    }

    /// Returns the maximum difference from the exact area: half the share of pairs whose scores are in the same bucket.
    pub fn area_error(&self) -> Option<f64> {
        let together = self.positive.iter().zip(&self.negative).map(|(a, b)| *a as f64 * *b as f64);
        let together: f64 = together.sum();
        self.pairs().map(|pairs| together / 2.0 / pairs)
    }

    fn pairs(&self) -> Option<f64> {
        let sum = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        Some(sum(&self.positive) * sum(&self.negative)).filter(|pairs| *pairs > 0.0)
    }

    /// Counts one score. NaN counts in the first bucket.
    pub(super) fn add(&mut self, score: f64, is_positive: bool) {
        let width = 2.0 * SCORE_MAX / BUCKETS as f64;
        let bucket = ((score + SCORE_MAX) / width).clamp(0.0, BUCKETS as f64 - 1.0) as usize;
        let counts = if is_positive { &mut self.positive } else { &mut self.negative };
        counts[bucket] += 1;
    }
}

impl AddAssign<&Self> for ScoreHistogram {
    fn add_assign(&mut self, other: &Self) {
        add_counts(&mut self.positive, &other.positive);
        add_counts(&mut self.negative, &other.negative);
    }
}
