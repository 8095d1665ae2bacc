//! Stochastic gradient descent on slices.

use super::{LocalOptimizer, TrainingPlan};

/// The numbers of one update.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sgd {
    learning_rate: f32,
    momentum: f32,
    weight_decay: f32,
    proximal_term: f32,
}

impl Sgd {
    pub(super) fn new(plan: &TrainingPlan) -> Self {
        let LocalOptimizer::Sgd { learning_rate, momentum, weight_decay } = plan.optimizer;
        Self { learning_rate, momentum, weight_decay, proximal_term: plan.proximal_term }
    }

    /// The optimizer's memory for this many parameters: none without momentum.
    pub(super) fn velocity_length(&self, parameter_count: usize) -> usize {
        if self.momentum == 0.0 { 0 } else { parameter_count }
    }

    /// Updates one tensor and says whether all of its weights are finite.
    ///
    /// All slices have one length, except that `velocity` is empty without momentum.
    pub(super) fn update(
        &self,
        weights: &mut [f32],
        gradient: &[f32],
        starting_weights: &[f32],
        velocity: &mut [f32],
    ) -> bool {
        let inputs = weights.iter_mut().zip(gradient).zip(starting_weights);
        let mut is_finite = true;
        if self.momentum == 0.0 {
            for ((weight, gradient), start) in inputs {
                *weight -= self.learning_rate * self.regularised(*gradient, *weight, *start);
                is_finite &= weight.is_finite();
            }
        } else {
            for (((weight, gradient), start), velocity) in inputs.zip(velocity) {
                *velocity = self.momentum * *velocity + self.regularised(*gradient, *weight, *start);
                *weight -= self.learning_rate * *velocity;
                is_finite &= weight.is_finite();
            }
        }
        is_finite
    }

    /// The gradient of the loss with weight decay and the proximal term.
    fn regularised(&self, gradient: f32, weight: f32, start: f32) -> f32 {
        gradient + self.weight_decay * weight + self.proximal_term * (weight - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_updates_by_hand() {
        let sgd = Sgd { learning_rate: 0.5, momentum: 0.5, weight_decay: 0.25, proximal_term: 1.0 };
        let (mut weights, mut velocity) = ([2.0], [0.0]);
        // v = 1 + 0.25 * 2 + 1 * (2 - 1) = 2.5, w = 2 - 1.25 = 0.75.
        assert!(sgd.update(&mut weights, &[1.0], &[1.0], &mut velocity));
        assert_eq!((weights, velocity), ([0.75], [2.5]));
        // v = 1.25 + 1 + 0.1875 - 0.25 = 2.1875, w = 0.75 - 1.09375.
        assert!(sgd.update(&mut weights, &[1.0], &[1.0], &mut velocity));
        assert_eq!((weights, velocity), ([-0.34375], [2.1875]));
    }

    #[test]
    fn an_infinite_weight_is_reported() {
        let sgd = Sgd { learning_rate: 1e30, momentum: 0.0, weight_decay: 0.0, proximal_term: 0.0 };
        assert!(!sgd.update(&mut [0.0, 0.0], &[1.0, 1e30], &[0.0, 0.0], &mut []));
    }
}
