use folkmoot_protocol::{Fault, saturating::to_float32};
use serde::{Deserialize, Serialize};

use super::{
    Commit, Finalizer,
    checks::{expect_positive, refuse},
};

/// The largest number of pairs.
const HISTORY_MAX: u32 = 20;

/// L-BFGS: steps along the direction that the last changes of weights and gradients give, without a line search.
///
/// Nocedal and Wright 2006, "Numerical optimization", algorithm 7.4 with the scaling of equation 7.20, where the gradient is the negative aggregate. So the
/// aggregate must be a gradient: each client takes one step of plain SGD over all of its examples, and the aggregate is a mean. The pair
/// s = w − w′ and y = g − g′ of a commit and the one before joins the history if s·y > `curvature_min`·‖s‖·‖y‖; otherwise it is left out, so that the
/// direction always leads downhill. Without a pair, as in the first commit, the step is the aggregate itself.
///
/// It is for convex models, such as linear ones, whose curvature differs much between directions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LBfgs {
    /// The step length, above 0. The algorithm of the paper uses 1.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub server_learning_rate: f64,
    /// The number of pairs that are kept, from 1 to 20: the algorithm's m. The state of a version has 2·(`history` + 1) times the size of the model.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 20)))]
    pub history: u32,
    /// The least cosine of the angle between s and y, above 0 and below 1.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1)))]
    pub curvature_min: f64,
}

impl Default for LBfgs {
    fn default() -> Self {
        Self { server_learning_rate: 1.0, history: 5, curvature_min: 1e-6 }
    }
}

impl LBfgs {
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        expect_positive("server_learning_rate", self.server_learning_rate, faults);
        if !(1..=HISTORY_MAX).contains(&self.history) {
            refuse("history", self.history.into(), "it must be 1 to 20", faults);
        }
        if !(self.curvature_min > 0.0 && self.curvature_min < 1.0) {
            refuse("curvature_min", self.curvature_min, "it must be above 0, and below 1", faults);
        }
    }
}

impl Finalizer for LBfgs {
    /// The weights and the gradient of the last commit, and then the pairs, from the newest to the oldest. A pair of zeros is none.
    fn state_count(&self) -> usize {
        2 * (self.history as usize + 1)
    }

    fn initial_state(&self, _slot: usize) -> f32 {
        0.0
    }

    /// The direction depends on inner products over all parameters.
    fn needs_all_parameters(&self) -> bool {
        true
    }

    fn advance(&self, _commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]) {
        let gradient: Vec<f64> = mean_delta.iter().map(|delta| -delta).collect();
        let (last, pairs) = state.split_at_mut(2);
        if last[1].iter().any(|slope| *slope != 0.0) {
            let s: Vec<f32> = weights.iter().zip(&*last[0]).map(|(weight, last)| weight - last).collect();
            let y = gradient.iter().zip(&*last[1]).map(|(slope, last)| to_float32(slope - f64::from(*last)));
            let y: Vec<f32> = y.collect();
            let bound = self.curvature_min * (dot(&s, &s) * dot(&y, &y)).sqrt();
            if dot(&s, &y) > bound {
                for slot in (2..pairs.len()).rev() {
                    let (newer, older) = pairs.split_at_mut(slot);
                    older[0].copy_from_slice(newer[slot - 2]);
                }
                pairs[0].copy_from_slice(&s);
                pairs[1].copy_from_slice(&y);
            }
        }
        last[0].copy_from_slice(weights);
        last[1].iter_mut().zip(&gradient).for_each(|(last, slope)| *last = to_float32(*slope));
        let direction = direction(pairs, &gradient);
        for (weight, step) in weights.iter_mut().zip(direction) {
            *weight = to_float32(f64::from(*weight) - self.server_learning_rate * step);
        }
    }
}

/// Returns the product of the inverse Hessian and the gradient (algorithm 7.4).
fn direction(pairs: &[&mut [f32]], gradient: &[f64]) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut known = Vec::new();
    for pair in pairs.chunks_exact(2) {
        let (s, y) = (&*pair[0], &*pair[1]);
        let curvature = dot(s, y);
        if curvature <= 0.0 {
            break;
        }
        let alpha = mixed_dot(&q, s) / curvature;
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= alpha * f64::from(*y));
        known.push((s, y, curvature, alpha));
    }
    if let Some((_, y, curvature, _)) = known.first() {
        let scale = curvature / dot(y, y);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for (s, y, curvature, alpha) in known.into_iter().rev() {
        let beta = mixed_dot(&q, y) / curvature;
        q.iter_mut().zip(s).for_each(|(q, s)| *q += (alpha - beta) * f64::from(*s));
    }
    q
}

fn dot(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
}

fn mixed_dot(one: &[f64], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * f64::from(*other)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(finalizer: &LBfgs, parameters: usize) -> Vec<Vec<f32>> {
        vec![vec![0.0; parameters]; finalizer.state_count()]
    }

    fn commit(finalizer: &LBfgs, weights: &mut [f32], delta: &[f64], state: &mut [Vec<f32>]) {
        let mut slots: Vec<&mut [f32]> = state.iter_mut().map(Vec::as_mut_slice).collect();
        finalizer.advance(&Commit::default(), weights, delta, &mut slots);
    }

    /// A quadratic whose Hessian has the eigenvalues 1, 10 and 100. Gradient steps of length 0.01 take hundreds of commits.
    #[test]
    fn a_quadratic_is_solved_in_a_few_commits() {
        let finalizer = LBfgs::default();
        let (mut weights, mut state) = ([1.0f32, 1.0, 1.0], begin(&finalizer, 3));
        for _ in 0..25 {
            let delta: Vec<f64> = weights
                .iter()
                .zip([1.0, 10.0, 100.0])
                .map(|(weight, h)| -0.01 * h * f64::from(*weight))
                .collect();
            commit(&finalizer, &mut weights, &delta, &mut state);
        }
        assert!(weights.iter().all(|weight| weight.abs() < 1e-4), "{weights:?}");
    }

    /// The direction maps the newest y to its s: the secant equation (6.6) of the inverse Hessian.
    #[test]
    fn the_direction_meets_the_secant_equation() {
        let mut pairs =
            [vec![1.0f32, 2.0, -1.0], vec![2.0, 3.0, 0.5], vec![0.5, -1.0, 2.0], vec![1.0, -2.0, 5.0]];
        let y: Vec<f64> = pairs[1].iter().copied().map(f64::from).collect();
        let s = pairs[0].clone();
        let slots: Vec<&mut [f32]> = pairs.iter_mut().map(Vec::as_mut_slice).collect();
        let found = direction(&slots, &y);
        assert!(found.iter().zip(&s).all(|(found, s)| (found - f64::from(*s)).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn pairs_without_curvature_are_left_out_and_old_ones_go() {
        let finalizer = LBfgs { history: 2, ..LBfgs::default() };
        let (mut weights, mut state) = ([0.0f32], begin(&finalizer, 1));
        commit(&finalizer, &mut weights, &[1.0], &mut state);
        assert_eq!((weights, &state[0], &state[1]), ([1.0], &vec![0.0], &vec![-1.0]), "the aggregate itself");
        // The gradient falls along the step: negative curvature.
        commit(&finalizer, &mut weights, &[2.0], &mut state);
        assert_eq!((weights, &state[2..]), ([3.0], &[vec![0.0], vec![0.0], vec![0.0], vec![0.0]][..]));
        // s = 2, y = 1, so the step is 2·gradient.
        commit(&finalizer, &mut weights, &[1.0], &mut state);
        assert_eq!((weights, state[2][0], state[3][0]), ([5.0], 2.0, 1.0));
        commit(&finalizer, &mut weights, &[0.5], &mut state);
        commit(&finalizer, &mut weights, &[0.25], &mut state);
        let kept: Vec<f32> = state[2..].iter().map(|slot| slot[0]).collect();
        assert_eq!(kept[1..].iter().filter(|value| **value == 0.0).count(), 0);
        assert!((kept[2], kept[3]) != (2.0, 1.0), "the oldest is gone: {kept:?}");
    }

    #[test]
    fn numbers_have_ranges() {
        let count = |finalizer: LBfgs| {
            let mut faults = Vec::new();
            finalizer.validate(&mut faults);
            faults.len()
        };
        assert_eq!(count(LBfgs::default()), 0);
        assert_eq!(count(LBfgs { server_learning_rate: 0.0, history: 21, curvature_min: 1.0 }), 3);
    }
}
