use folkmoot_graph::vectorised;

use super::{Optimizer, SLOTS_MAX, StepNumber};

/// Adagrad (Duchi et al. 2011) with a diagonal matrix: s ← s + g²; w ← w − r·g / (√s + epsilon).
#[derive(Debug, Clone, Copy)]
pub(super) struct Adagrad {
    pub(super) epsilon: f32,
    pub(super) weight_decay: f32,
}

impl Optimizer for Adagrad {
    fn slots(&self) -> usize {
        1
    }

    fn update(
        &self,
        step: StepNumber,
        weights: &mut [f32],
        gradient: &[f32],
        [squares, _]: [&mut [f32]; SLOTS_MAX],
    ) {
        vectorised(
            #[inline(always)]
            || {
                for ((weight, gradient), square) in weights.iter_mut().zip(gradient).zip(squares) {
                    let gradient = gradient + self.weight_decay * *weight;
                    *square += gradient * gradient;
                    *weight -= step.learning_rate * gradient / (square.sqrt() + self.epsilon);
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
        let adagrad = Adagrad { epsilon: 0.25, weight_decay: 0.5 };
        // g = 2, s = 4: w = 2 − ½ · 2 / 2.25.
        let first = 2.0 - 1.0 / 2.25f64;
        let gradient = 2.0 + 0.5 * first;
        let second = first - 0.5 * gradient / ((4.0 + gradient * gradient).sqrt() + 0.25);
        assert_close(two_steps(&adagrad, 2.0, [1.0, 2.0]), [first, second]);
    }
}
