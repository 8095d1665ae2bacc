use folkmoot_graph::vectorised;

use super::{MatrixShape, Optimizer, SLOTS_MAX, StepNumber};

/// Sophia (Liu et al. 2024, algorithm 3): m ← β₁m + (1 − β₁)g; w ← w − r·weight_decay·w; w ← w − r·clip(m / max(gamma·h, epsilon), 1). The
/// second state of a weight is h, which estimates of the curvature change before the update.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sophia {
    pub(super) beta1: f32,
    pub(super) gamma: f32,
    pub(super) epsilon: f32,
    pub(super) weight_decay: f32,
}

impl Optimizer for Sophia {
    fn slots(&self) -> usize {
        2
    }

    fn update(
        &self,
        step: StepNumber,
        weights: &mut [f32],
        gradient: &[f32],
        [means, curvatures]: [&mut [f32]; SLOTS_MAX],
    ) {
        let (new1, rate) = (1.0 - self.beta1, step.learning_rate);
        let kept = 1.0 - rate * self.weight_decay;
        vectorised(
            #[inline(always)]
            || {
                let states = means.iter_mut().zip(curvatures);
                for ((weight, gradient), (mean, curvature)) in weights.iter_mut().zip(gradient).zip(states) {
                    *mean = self.beta1 * *mean + new1 * gradient;
                    let step = *mean / (self.gamma * *curvature).max(self.epsilon);
                    *weight = kept * *weight - rate * step.clamp(-1.0, 1.0);
                }
            },
        );
    }
}

/// Returns h of each trained weight in the optimizer's state for tensors of these shapes.
pub(crate) fn curvatures<'a>(
    shapes: &'a [MatrixShape],
    mut state: &'a mut [f32],
) -> impl Iterator<Item = &'a mut f32> {
    shapes.iter().flat_map(move |shape| {
        let length = shape.elements();
        let (own, others) = std::mem::take(&mut state).split_at_mut(2 * length);
        state = others;
        own[length..].iter_mut()
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, two_steps};
    use super::*;

    #[test]
    fn steps_by_hand() {
        let sophia = Sophia { beta1: 0.5, gamma: 0.25, epsilon: 0.5, weight_decay: 0.5 };
        // Without curvature, the divisor is ½. Step 1: m = ½, so w = ¾·2 − ½·1. Step 2: m = ¼ − 1/16, so w = ¾·1 − ½·⅜.
        assert_close(two_steps(&sophia, 2.0, [1.0, -0.125]), [1.0, 0.5625]);
        let (mut weight, step) = ([2.0, 2.0], StepNumber { number: 1, learning_rate: 0.5 });
        // The curvatures 16 and −16: the divisors are 4 and ½.
        sophia.update(step, &mut weight, &[2.0, 2.0], [&mut [0.0, 0.0], &mut [16.0, -16.0]]);
        assert_eq!(weight, [1.5 - 0.125, 1.0]);
    }

    #[test]
    fn curvatures_are_the_second_halves() {
        let shapes = [MatrixShape::of(&[2]), MatrixShape::of(&[1])];
        let mut state = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let found: Vec<f32> = curvatures(&shapes, &mut state).map(|value| *value).collect();
        assert_eq!(found, [2.0, 3.0, 5.0]);
    }
}
