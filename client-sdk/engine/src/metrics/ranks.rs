use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::{add_counts, share};

/// Ranks that are told apart.
const RANKS: usize = 10;

/// At which rank of the outputs the right class stands: top-k accuracy for k to 10.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankCounts {
    /// How often the right class was the largest output, the second largest, and so on to the tenth.
    pub at_rank: Vec<u64>,
    /// All decisions.
    pub count: u64,
}

impl RankCounts {
    /// The share of decisions whose class was among the `k` largest outputs, in [0, 1]. `None` without decisions, or
    /// if `k` is 0 or above 10.
    pub fn top_k(&self, k: usize) -> Option<f64> {
        let is_counted = (1..=RANKS).contains(&k);
        is_counted.then(|| share(self.at_rank.iter().take(k).sum(), self.count)).flatten()
    }

    /// The share of decisions that were right.
    pub fn accuracy(&self) -> Option<f64> {
        self.top_k(1)
    }

    /// Counts one decision. Of equal outputs the one of the lower class stands first.
    pub(super) fn add(&mut self, outputs: &[f32], class: usize) {
        let score = outputs[class];
        let before = outputs[..class].iter().filter(|other| **other >= score).count();
        let rank = before + outputs[class + 1..].iter().filter(|other| **other > score).count();
        self.at_rank.resize(RANKS, 0);
        if let Some(count) = self.at_rank.get_mut(rank).filter(|_| !score.is_nan()) {
            *count += 1;
        }
        self.count += 1;
    }
}

impl AddAssign<&Self> for RankCounts {
    fn add_assign(&mut self, other: &Self) {
        add_counts(&mut self.at_rank, &other.at_rank);
        self.count += other.count;
    }
}
