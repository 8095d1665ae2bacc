//! Sums from which loss, accuracy and all other metrics are computed, for one device or many.

mod auc;
mod classes;
mod classification;
mod evaluation;
mod ranks;
mod regression;
mod score;
mod sums;

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

pub use auc::ScoreHistogram;
pub use classes::ClassCounts;
pub use classification::ClassificationSums;
pub use evaluation::Evaluation;
pub use ranks::RankCounts;
pub use regression::RegressionSums;
pub use score::{correct_examples, score};
pub use sums::sum_shapes;

/// Sums over examples. The sums of several clients can be added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// The number of examples. In training, an example counts each time it is seen.
    pub example_count: u64,
    /// The sum of the examples' losses. In training, the mean loss of a batch counts for each of its examples.
    pub loss_sum: f64,
    /// The number of examples with a correct prediction: the largest output, or a score above 0 for class 1. An example
    /// with several positions counts only if all are correct. 0 if labels are target values.
    pub correct_count: u64,
    /// The number of training steps; 0 in evaluation.
    pub step_count: u64,
}

impl Metrics {
    /// Returns the mean loss, or `None` without examples.
    pub fn mean_loss(&self) -> Option<f64> {
        (self.example_count > 0).then(|| self.loss_sum / self.example_count as f64)
    }

    /// Returns the share of examples predicted correctly, in [0, 1], or `None` without examples.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.correct_count, self.example_count)
    }
}

impl AddAssign for Metrics {
    fn add_assign(&mut self, other: Self) {
        self.example_count += other.example_count;
        self.loss_sum += other.loss_sum;
        self.correct_count += other.correct_count;
        self.step_count += other.step_count;
    }
}

/// Returns `part / whole`, or `None` if `whole` is 0.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Returns the index of the largest element. If there are several, returns the first.
fn largest(row: &[f32]) -> usize {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best
}

/// Adds counts element by element; an empty vector counts as zeros.
fn add_counts(counts: &mut Vec<u64>, others: &[u64]) {
    if counts.len() < others.len() {
        counts.resize(others.len(), 0);
    }
    for (count, other) in counts.iter_mut().zip(others) {
        *count += other;
    }
}

#[cfg(test)]
mod tests;
