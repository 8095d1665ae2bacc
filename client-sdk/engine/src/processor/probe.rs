//! The weights of a step, around which gradients are compared.

use std::ops::Range;

/// The distance at which gradients are compared for a product with the Hessian, relative to the largest weight and 1. In single precision,
/// it balances rounding, which shrinks with the distance, and the third derivative, whose effect grows with its square.
const DISTANCE: f64 = 0.01;

/// A copy of the weights of a step, while gradients at other weights are computed.
pub(crate) struct Probe {
    kept: Vec<f32>,
    /// The largest absolute value of a trained weight.
    largest: f64,
}

impl Probe {
    /// Creates a probe for a model with this many weights.
    pub(crate) fn new(weights: usize) -> Self {
        Self { kept: vec![0.0; weights], largest: 0.0 }
    }

    /// Keeps the weights of the step. The weights in the ranges `trained` are trained.
    pub(crate) fn keep(&mut self, weights: &[f32], trained: impl Iterator<Item = Range<usize>>) {
        self.kept.copy_from_slice(weights);
        let trained = trained.flat_map(|range| &weights[range]);
        self.largest = trained.fold(0.0, |largest: f64, weight| largest.max(f64::from(*weight).abs()));
    }

    /// Returns the weights of the step.
    pub(crate) fn kept(&self) -> &[f32] {
        &self.kept
    }

    /// Returns the factor that scales this vector to the distance of two gradients; `None` if it has no direction.
    pub(crate) fn distance_factor(&self, vector: &[f64]) -> Option<f64> {
        let squares: f64 = vector.iter().map(|element| element * element).sum();
        let factor = DISTANCE * self.largest.max(1.0) / squares.sqrt();
        (factor.is_finite() && factor > 0.0).then_some(factor)
    }

    /// Returns the number of bytes that the copy takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.kept[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_follows_the_largest_weight() {
        let mut probe = Probe::new(3);
        let keep = |probe: &mut Probe, weights: &[f32]| probe.keep(weights, std::iter::once(0..2));
        // The last weight is not trained.
        keep(&mut probe, &[0.5, -0.25, 900.0]);
        assert_eq!(probe.distance_factor(&[3.0, 4.0]), Some(0.002));
        keep(&mut probe, &[0.5, -10.0, 0.0]);
        assert_eq!(probe.distance_factor(&[3.0, 4.0]), Some(0.02));
        assert_eq!(
            [probe.distance_factor(&[0.0, 0.0]), probe.distance_factor(&[f64::NAN, 1.0])],
            [None, None]
        );
    }
}
