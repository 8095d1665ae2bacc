use folkmoot_graph::vectorised;

use super::{Optimizer, SLOTS_MAX, StepNumber};

/// RMSprop (Tieleman and Hinton 2012): s ← decay·s + (1 − decay)·g²; v ← momentum·v + g / (√s + epsilon); w ← w − r·v.
#[derive(Debug, Clone, Copy)]
pub(super) struct RmsProp {
    pub(super) decay: f32,
    pub(super) epsilon: f32,
    pub(super) momentum: f32,
    pub(super) weight_decay: f32,
}

impl Optimizer for RmsProp {
    fn slots(&self) -> usize {
        if self.momentum == 0.0 { 1 } else { 2 }
    }

    fn update(
        &self,
        step: StepNumber,
        weights: &mut [f32],
        gradient: &[f32],
        [squares, velocities]: [&mut [f32]; SLOTS_MAX],
    ) {
        vectorised(
            #[inline(always)]
            || {
                let (rate, new_square) = (step.learning_rate, 1.0 - self.decay);
                let direction = |weight: f32, gradient: f32, square: &mut f32| {
                    let gradient = gradient + self.weight_decay * weight;
                    *square = self.decay * *square + new_square * gradient * gradient;
                    gradient / (square.sqrt() + self.epsilon)
                };
                let inputs = weights.iter_mut().zip(gradient).zip(squares);
                if self.momentum == 0.0 {
                    for ((weight, gradient), square) in inputs {
                        *weight -= rate * direction(*weight, *gradient, square);
                    }
                } else {
                    for (((weight, gradient), square), velocity) in inputs.zip(velocities) {
                        *velocity = self.momentum * *velocity + direction(*weight, *gradient, square);
                        *weight -= rate * *velocity;
                    }
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
        let plain = RmsProp { decay: 0.75, epsilon: 0.25, momentum: 0.0, weight_decay: 0.5 };
        // g = 2, s = 1: the direction is 2 / 1.25.
        let directions = |first: f64| {
            let gradient = 2.0 + 0.5 * first;
            [1.6, gradient / ((0.75 + 0.25 * gradient * gradient).sqrt() + 0.25)]
        };
        let first = 2.0 - 0.5 * 1.6;
        let second = first - 0.5 * directions(first)[1];
        assert_close(two_steps(&plain, 2.0, [1.0, 2.0]), [first, second]);
        let with_momentum = RmsProp { momentum: 0.5, ..plain };
        let second = first - 0.5 * (0.5 * 1.6 + directions(first)[1]);
        assert_close(two_steps(&with_momentum, 2.0, [1.0, 2.0]), [first, second]);
    }
}
