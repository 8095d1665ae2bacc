//! Sums from which loss and accuracy are computed, on a device or over many.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::examples::Labels;
use crate::train::Loss;

/// Sums over examples. Sums of several clients add up to those of all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// The examples over which the sums go. In training an example counts once for each time it was seen.
    pub example_count: u64,
    /// The sum of the examples' losses.
    pub loss_sum: f64,
    /// The examples whose largest output is at the right class; 0 if labels are targets.
    pub correct_count: u64,
    /// The training steps; 0 in evaluation.
    pub step_count: u64,
}

impl Metrics {
    /// The mean loss, or `None` without examples.
    pub fn mean_loss(&self) -> Option<f64> {
        (self.example_count > 0).then(|| self.loss_sum / self.example_count as f64)
    }

    /// The share of examples whose class was right, in [0, 1], or `None` without examples.
    pub fn accuracy(&self) -> Option<f64> {
        (self.example_count > 0).then(|| self.correct_count as f64 / self.example_count as f64)
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

/// Sums loss and right classes of outputs, in double precision and in the order of the rows.
///
/// `outputs` has as many rows of equal width as there are labels; class numbers are below the width. The
/// step count stays 0.
pub(crate) fn score(outputs: &[f32], labels: &Labels, loss: Loss) -> Metrics {
    match (loss, labels) {
        (Loss::SoftmaxCrossEntropy, Labels::Classes(classes)) => {
            let width = outputs.len() / classes.len().max(1);
            let mut metrics = Metrics { example_count: classes.len() as u64, ..Metrics::default() };
            for (row, class) in outputs.chunks_exact(width.max(1)).zip(classes) {
                metrics.loss_sum += cross_entropy(row, *class as usize);
                metrics.correct_count += u64::from(largest(row) == *class as usize);
            }
            metrics
        }
        (Loss::MeanSquaredError, Labels::Targets(targets, width)) => {
            let squares = outputs.iter().zip(targets).map(|(y, t)| (f64::from(*y) - f64::from(*t)).powi(2));
            let rows = targets.len() / width;
            let loss_sum = squares.sum::<f64>() / *width as f64;
            Metrics { example_count: rows as u64, loss_sum, ..Metrics::default() }
        }
        _ => unreachable!("labels are checked against the loss before anything runs"),
    }
}

/// `-log softmax(logits)[class]`, with the largest logit subtracted so that nothing overflows.
fn cross_entropy(logits: &[f32], class: usize) -> f64 {
    let maximum = f64::from(logits[largest(logits)]);
    let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - maximum).exp()).sum();
    maximum + sum.ln() - f64::from(logits[class])
}

/// The index of the largest element, the first of several.
fn largest(row: &[f32]) -> usize {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_scored() {
        let outputs = [0.0, 0.0, 1000.0, -1000.0];
        let metrics = score(&outputs, &Labels::Classes(vec![0, 1]), Loss::SoftmaxCrossEntropy);
        assert_eq!((metrics.example_count, metrics.correct_count), (2, 1));
        assert!((metrics.loss_sum - (2f64.ln() + 2000.0)).abs() < 1e-9);
    }

    #[test]
    fn targets_are_scored() {
        let labels = Labels::Targets(vec![1.0, 2.0, 3.0, 4.0], 2);
        let metrics = score(&[1.0, 4.0, 3.0, 4.0], &labels, Loss::MeanSquaredError);
        assert_eq!((metrics.example_count, metrics.loss_sum), (2, 2.0));
    }
}
