use folkmoot_graph::vectorised;

use super::{Optimizer, SLOTS_MAX, StepNumber};

/// Stochastic gradient descent: v ← momentum·v + g; w ← w − r·v, or w ← w − r·(g + momentum·v).
#[derive(Debug, Clone, Copy)]
pub(super) struct Sgd {
    pub(super) momentum: f32,
    pub(super) nesterov: bool,
    pub(super) weight_decay: f32,
}

impl Optimizer for Sgd {
    fn slots(&self) -> usize {
        usize::from(self.momentum != 0.0)
    }

    fn update(
        &self,
        step: StepNumber,
        weights: &mut [f32],
        gradient: &[f32],
        [velocity, _]: [&mut [f32]; SLOTS_MAX],
    ) {
        vectorised(
            #[inline(always)]
            || {
                let rate = step.learning_rate;
                let inputs = weights.iter_mut().zip(gradient);
                if self.momentum == 0.0 {
                    for (weight, gradient) in inputs {
                        *weight -= rate * (gradient + self.weight_decay * *weight);
                    }
                } else if self.nesterov {
                    for ((weight, gradient), velocity) in inputs.zip(velocity) {
                        let gradient = gradient + self.weight_decay * *weight;
                        *velocity = self.momentum * *velocity + gradient;
                        *weight -= rate * (gradient + self.momentum * *velocity);
                    }
                } else {
                    for ((weight, gradient), velocity) in inputs.zip(velocity) {
                        *velocity = self.momentum * *velocity + gradient + self.weight_decay * *weight;
                        *weight -= rate * *velocity;
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::two_steps;
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let sgd = Sgd { momentum: 0.5, nesterov: false, weight_decay: 0.25 };
        // v = 1 + ½ = 1.5, w = 2 − 0.75; v = 0.75 + 2 + 0.3125 = 3.0625, w = 1.25 − 1.53125.
        assert_eq!(two_steps(&sgd, 2.0, [1.0, 2.0]), [1.25, -0.28125]);
        let sgd = Sgd { momentum: 0.0, ..sgd };
        // w = 2 − 0.75; w = 1.25 − ½ · 2.3125.
        assert_eq!(two_steps(&sgd, 2.0, [1.0, 2.0]), [1.25, 0.09375]);
    }

    #[test]
    fn nesterov_looks_ahead() {
        let sgd = Sgd { momentum: 0.5, nesterov: true, weight_decay: 0.0 };
        // v = 1, w = 2 − ½ · 1.5; v = 2.5, w = 1.25 − ½ · 3.25.
        assert_eq!(two_steps(&sgd, 2.0, [1.0, 2.0]), [1.25, -0.375]);
    }
}
