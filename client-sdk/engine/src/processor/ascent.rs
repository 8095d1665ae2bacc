//! Sharpness-aware minimisation: moves to the worst weights nearby for the second gradient of a step, and back.

use std::ops::Range;

use folkmoot_graph::vectorised;

use super::clipping::norm;

/// The way from the weights to the point of the second gradient (Foret et al. 2021, equation 2), and back.
#[derive(Debug)]
pub(crate) struct Ascent {
    radius: f32,
    /// The weights of the step, while it is at the other point.
    kept: Vec<f32>,
}

impl Ascent {
    /// Creates an ascent for a model with this many weights.
    pub(crate) fn new(radius: f32, weights: usize) -> Self {
        Self { radius, kept: vec![0.0; weights] }
    }

    /// Adds radius·g/‖g‖ to the weights, with the norm over all trained tensors. Returns `false` and changes nothing if the
    /// norm is 0 or not finite: then there is no direction.
    pub(crate) fn climb<'a>(
        &mut self,
        gradients: impl Iterator<Item = (Range<usize>, &'a [f32])> + Clone,
        weights: &mut [f32],
    ) -> bool {
        let norm = norm(gradients.clone().map(|(_, gradient)| gradient));
        let factor = (f64::from(self.radius) / norm) as f32;
        if !factor.is_finite() || factor == 0.0 {
            return false;
        }
        self.kept.copy_from_slice(weights);
        for (range, gradient) in gradients {
            let weights = &mut weights[range];
            vectorised(
                #[inline(always)]
                || {
                    for (weight, gradient) in weights.iter_mut().zip(gradient) {
                        *weight += factor * gradient;
                    }
                },
            );
        }
        true
    }

    /// Restores the weights, also running statistics that the second gradient has changed.
    pub(crate) fn descend(&self, weights: &mut [f32]) {
        weights.copy_from_slice(&self.kept);
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
    fn a_climb_has_the_radius_and_leaves_no_trace() {
        let mut ascent = Ascent::new(10.0, 4);
        let start = [1.0, 2.0, 3.0, 4.0];
        let mut weights = start;
        // The norm over both tensors is 5; weight 1 is not trained.
        let gradients = [(0..1, &[3.0f32][..]), (2..4, &[0.0, -4.0])];
        assert!(ascent.climb(gradients.iter().cloned(), &mut weights));
        assert_eq!(weights, [7.0, 2.0, 3.0, -4.0]);
        weights[1] = 9.0;
        ascent.descend(&mut weights);
        assert_eq!(weights, start);
        for slope in [0.0, f32::NAN, f32::INFINITY] {
            assert!(!ascent.climb([(0..1, &[slope][..])].into_iter(), &mut weights));
            assert_eq!(weights, start);
        }
    }
}
