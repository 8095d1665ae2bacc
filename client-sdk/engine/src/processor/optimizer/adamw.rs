use super::adam::Adam;
use super::{Optimizer, SLOTS_MAX, StepNumber};

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2).
#[derive(Debug, Clone, Copy)]
pub(super) struct AdamW {
    /// Adam, with its own weight decay set to 0.
    pub(super) adam: Adam,
    pub(super) weight_decay: f32,
}

impl Optimizer for AdamW {
    fn slots(&self) -> usize {
        self.adam.slots()
    }

    fn update(
        &self,
        step: StepNumber,
        weights: &mut [f32],
        gradient: &[f32],
        state: [&mut [f32]; SLOTS_MAX],
    ) {
        let kept = 1.0 - step.learning_rate * self.weight_decay;
        for weight in weights.iter_mut() {
            *weight *= kept;
        }
        self.adam.update(step, weights, gradient, state);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, two_steps};
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let adam = Adam { beta1: 0.5, beta2: 0.75, epsilon: 0.25, weight_decay: 0.0 };
        // Every step first multiplies the weight by 1 − ½ · ½. The moments are the same as Adam's without decay.
        let first = 2.0 * 0.75 - 0.5 / 1.25;
        let second = first * 0.75 - 0.5 * (1.25 / 0.75) / ((1.1875f64 / 0.4375).sqrt() + 0.25);
        assert_close(two_steps(&AdamW { adam, weight_decay: 0.5 }, 2.0, [1.0, 2.0]), [first, second]);
    }
}
