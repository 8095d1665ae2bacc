//! The examples of a training as plain numbers, and what each counts in a loss.

/// The examples of a training, as an executor with memory of its own takes them.
#[derive(Debug, Clone, Copy)]
pub struct StepData<'a> {
    /// Row-major features.
    pub features: &'a [f32],
    /// Row-major labels; class numbers as floats, which are exact up to 2²⁴.
    pub labels: &'a [f32],
    /// The weight of each example, if they have weights.
    pub weights: Option<&'a [f32]>,
}

/// The sum of the weights of these examples, in their order.
pub fn weight_sum(weights: &[f32], rows: &[usize]) -> f64 {
    rows.iter().map(|row| f64::from(weights[*row])).sum()
}

/// Appends the share of each of these examples in the loss of a step, whose weights have the sum `step_weight`: over a whole
/// step their sum is 1, or 0 if all weights are.
pub fn append_shares(weights: &[f32], rows: &[usize], step_weight: f64, shares: &mut Vec<f32>) {
    let factor = if step_weight > 0.0 { 1.0 / step_weight } else { 0.0 };
    shares.extend(rows.iter().map(|row| (f64::from(weights[*row]) * factor) as f32));
}
