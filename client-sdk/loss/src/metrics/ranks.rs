use std::ops::AddAssign;

use folkmoot_protocol::update::sums::RANKS;
use serde::{Deserialize, Serialize};

use super::{add_counts, share};

/// The rank of the correct class among the outputs: top-k accuracy for k up to 10.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankCounts {
    /// For each rank, the number of predictions in which the correct class had it: first the largest output, last the
    /// tenth largest.
    pub at_rank: Vec<u64>,
    /// The number of all predictions, including those of a rank beyond the tenth.
    pub count: u64,
}

impl RankCounts {
    /// Returns the share of predictions whose correct class was among the `k` largest outputs, in [0, 1]. Returns
    /// `None` without predictions, or if `k` is 0 or above 10.
    pub fn top_k(&self, k: usize) -> Option<f64> {
        let is_counted = (1..=RANKS).contains(&k);
        is_counted.then(|| share(self.at_rank.iter().take(k).sum(), self.count)).flatten()
    }

    /// Returns the share of correct predictions.
    pub fn accuracy(&self) -> Option<f64> {
        self.top_k(1)
    }

    /// Counts one prediction. Among equal outputs, the lower class ranks first.
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
