//! The training examples as plain numbers, and their weights in the loss.

/// The training examples, for an executor that keeps its own copy of them.
#[derive(Debug, Clone, Copy)]
pub struct StepData<'a> {
    /// Row-major features.
    pub features: &'a [f32],
    /// Row-major labels; class numbers as floats, which are exact up to 2²⁴.
    pub labels: &'a [f32],
    /// The weight of each example, if the examples are weighted.
    pub weights: Option<&'a [f32]>,
}

/// Returns the sum of these examples' weights, added in order.
pub fn weight_sum(weights: &[f32], rows: &[usize]) -> f64 {
    rows.iter().map(|row| f64::from(weights[*row])).sum()
}

/// Appends each of these examples' share of a step's loss. `step_weight` is the sum of all weights in the step. The
/// shares of a step add up to 1, or to 0 if all weights are 0.
pub fn append_shares(weights: &[f32], rows: &[usize], step_weight: f64, shares: &mut Vec<f32>) {
    let factor = if step_weight > 0.0 { 1.0 / step_weight } else { 0.0 };
    shares.extend(rows.iter().map(|row| (f64::from(weights[*row]) * factor) as f32));
}
