use folkmoot_graph::vectorised;

use super::{Optimizer, SLOTS_MAX, StepNumber};

/// Adam (Kingma and Ba 2015, algorithm 1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Adam {
    pub(super) beta1: f32,
    pub(super) beta2: f32,
    pub(super) epsilon: f32,
    pub(super) weight_decay: f32,
}

impl Optimizer for Adam {
    fn slots(&self) -> usize {
        2
    }

    fn update(
        &self,
        step: StepNumber,
        weights: &mut [f32],
        gradient: &[f32],
        [means, squares]: [&mut [f32]; SLOTS_MAX],
    ) {
        vectorised(
            #[inline(always)]
            || {
                let rate = (f64::from(step.learning_rate) / bias_correction(self.beta1, step.number)) as f32;
                let root_factor = (1.0 / bias_correction(self.beta2, step.number).sqrt()) as f32;
                let (new_mean, new_square) = (1.0 - self.beta1, 1.0 - self.beta2);
                let state = means.iter_mut().zip(squares);
                for ((weight, gradient), (mean, square)) in weights.iter_mut().zip(gradient).zip(state) {
                    let gradient = gradient + self.weight_decay * *weight;
                    *mean = self.beta1 * *mean + new_mean * gradient;
                    *square = self.beta2 * *square + new_square * gradient * gradient;
                    *weight -= rate * *mean / (square.sqrt() * root_factor + self.epsilon);
                }
            },
        );
    }
}

/// Returns 1 − βᵗ in double precision; single precision would lose digits.
fn bias_correction(beta: f32, step: u64) -> f64 {
    1.0 - f64::from(beta).powf(step as f64)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, two_steps};
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let adam = Adam { beta1: 0.5, beta2: 0.75, epsilon: 0.25, weight_decay: 0.0 };
        // The corrected moments are 1 and 1: w = 2 − ½ / 1.25.
        let first = 1.6;
        // m = (0.25 + 1) / 0.75, v = (0.1875 + 1) / 0.4375.
        let second = first - 0.5 * (1.25 / 0.75) / ((1.1875f64 / 0.4375).sqrt() + 0.25);
        assert_close(two_steps(&adam, 2.0, [1.0, 2.0]), [first, second]);
    }

    #[test]
    fn weight_decay_passes_through_the_moments() {
        let adam = Adam { beta1: 0.5, beta2: 0.75, epsilon: 0.25, weight_decay: 0.5 };
        // g = 1 + ½ · 2 = 2: w = 2 − ½ · 2 / 2.25.
        let first = 2.0 - 1.0 / 2.25f64;
        let gradient = 2.0 + 0.5 * first;
        let (mean, square) = (0.5 + 0.5 * gradient, 0.75 + 0.25 * gradient * gradient);
        let second = first - 0.5 * (mean / 0.75) / ((square / 0.4375).sqrt() + 0.25);
        assert_close(two_steps(&adam, 2.0, [1.0, 2.0]), [first, second]);
    }
}
