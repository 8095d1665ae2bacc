use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Sums over target values, for mean squared error, mean absolute error and R².
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegressionSums {
    /// The number of examples.
    pub count: u64,
    /// Σ (x − t)² for each output.
    pub squared_error: Vec<f64>,
    /// Σ |x − t| for each output.
    pub absolute_error: Vec<f64>,
    /// Σ t for each output.
    pub target: Vec<f64>,
    /// Σ t² for each output.
    pub squared_target: Vec<f64>,
}

impl RegressionSums {
    /// Returns the mean of (x − t)² over examples and outputs.
    pub fn mean_squared_error(&self) -> Option<f64> {
        self.mean(&self.squared_error)
    }

    /// Returns the root of the mean squared error, in the unit of the targets.
    pub fn root_mean_squared_error(&self) -> Option<f64> {
        self.mean_squared_error().map(f64::sqrt)
    }

    /// Returns the mean of |x − t| over examples and outputs.
    pub fn mean_absolute_error(&self) -> Option<f64> {
        self.mean(&self.absolute_error)
    }

    /// Returns R², 1 − Σ (x − t)² / Σ (t − t̄)², with the mean t̄ of each output. It is at most 1, and 0 for a model
    /// that always predicts the means. Several outputs count in proportion to their variance. Returns `None` if no
    /// output varies.
    ///
    /// The variance is computed from Σ t² and (Σ t)². If targets vary little around a large mean, this loses about
    /// 2·log₁₀(mean / standard deviation) digits.
    pub fn r_squared(&self) -> Option<f64> {
        let around_mean = |(sum, squares): (&f64, &f64)| (squares - sum * sum / self.count as f64).max(0.0);
        let variance: f64 = self.target.iter().zip(&self.squared_target).map(around_mean).sum();
        (self.count > 0 && variance > 0.0).then(|| 1.0 - self.squared_error.iter().sum::<f64>() / variance)
    }

    fn mean(&self, sums: &[f64]) -> Option<f64> {
        let count = self.count as f64 * sums.len() as f64;
        (count > 0.0).then(|| sums.iter().sum::<f64>() / count)
    }

    /// Counts one example.
    pub(super) fn add(&mut self, outputs: &[f32], targets: &[f32]) {
        let sums =
            [&mut self.squared_error, &mut self.absolute_error, &mut self.target, &mut self.squared_target];
        let terms: [fn(f64, f64) -> f64; 4] =
            [|x, t| (x - t).powi(2), |x, t| (x - t).abs(), |_, t| t, |_, t| t * t];
        for (sums, term) in sums.into_iter().zip(terms) {
            sums.resize(outputs.len(), 0.0);
            for ((sum, x), t) in sums.iter_mut().zip(outputs).zip(targets) {
                *sum += term(f64::from(*x), f64::from(*t));
            }
        }
        self.count += 1;
    }
}

impl AddAssign<&Self> for RegressionSums {
    fn add_assign(&mut self, other: &Self) {
        self.count += other.count;
        add_sums(&mut self.squared_error, &other.squared_error);
        add_sums(&mut self.absolute_error, &other.absolute_error);
        add_sums(&mut self.target, &other.target);
        add_sums(&mut self.squared_target, &other.squared_target);
    }
}

fn add_sums(sums: &mut Vec<f64>, others: &[f64]) {
    if sums.len() < others.len() {
        sums.resize(others.len(), 0.0);
    }
    for (sum, other) in sums.iter_mut().zip(others) {
        *sum += other;
    }
}
