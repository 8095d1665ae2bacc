use folkmoot_graph::vectorised;

use super::{Optimizer, SLOTS_MAX, StepNumber};

/// Lion (Chen et al. 2023, algorithm 2): w ← w − r·(sign(β₁m + (1 − β₁)g) + weight_decay·w); m ← β₂m + (1 − β₂)g.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lion {
    pub(super) beta1: f32,
    pub(super) beta2: f32,
    pub(super) weight_decay: f32,
}

/// Returns −1, 0 or 1. A value that is not finite is returned itself, so that it shows in the weight.
fn sign(value: f32) -> f32 {
    if value == 0.0 || !value.is_finite() { value } else { value.signum() }
}

impl Optimizer for Lion {
    fn slots(&self) -> usize {
        1
    }

    fn update(
        &self,
        step: StepNumber,
        weights: &mut [f32],
        gradient: &[f32],
        [means, _]: [&mut [f32]; SLOTS_MAX],
    ) {
        let (new1, new2) = (1.0 - self.beta1, 1.0 - self.beta2);
        vectorised(
            #[inline(always)]
            || {
                for ((weight, gradient), mean) in weights.iter_mut().zip(gradient).zip(means) {
                    let direction = sign(self.beta1 * *mean + new1 * gradient);
                    *weight -= step.learning_rate * (direction + self.weight_decay * *weight);
                    *mean = self.beta2 * *mean + new2 * gradient;
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, two_steps};
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let lion = Lion { beta1: 0.75, beta2: 0.5, weight_decay: 0.25 };
        // Step 1: m = 0, so the sign is g's, which is 1: w = 2 − ½·(1 + ½); then m = ½.
        // Step 2: ¾·½ + ¼·(−1) is above 0, although g is not: w = 1.25 − ½·(1 + 0.3125).
        assert_close(two_steps(&lion, 2.0, [1.0, -1.0]), [1.25, 0.59375]);
        // Step 1: without gradient and mean, only the decay is left. Step 2: the sign is −1.
        assert_close(two_steps(&lion, 2.0, [0.0, -3.0]), [1.75, 2.03125]);
    }

    #[test]
    fn what_is_not_a_number_does_not_look_like_a_step() {
        let lion = Lion { beta1: 0.9, beta2: 0.99, weight_decay: 0.0 };
        assert!(two_steps(&lion, 2.0, [f32::NAN, 1.0])[0].is_nan());
        assert!(two_steps(&lion, 2.0, [f32::INFINITY, 1.0])[0].is_infinite());
    }
}
