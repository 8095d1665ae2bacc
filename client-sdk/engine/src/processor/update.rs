//! Updates weights from a gradient, in pieces that stay in the CPU cache.

use std::ops::Range;

use folkmoot_graph::vectorised;

use super::optimizer::{MatrixShape, Optimizer, Rule, SLOTS_MAX, StepNumber};

/// The number of elements per piece.
const PIECE: usize = 1024;

/// Adjustments of a gradient before the optimizer.
///
/// Clipping comes first, then the proximal term and the correction. Weight decay is part of the optimizer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Adjustment<'a> {
    /// The factor by which every element is multiplied.
    pub(crate) scale: f32,
    /// After scaling, every element is clamped to ± this value.
    pub(crate) value_max: f32,
    /// FedProx's mu: adds mu·(w − w₀) (Li et al. 2020, equation 2).
    pub(crate) proximal_term: f32,
    /// w₀, the starting weights.
    pub(crate) starting_weights: &'a [f32],
    /// SCAFFOLD's c − cᵢ, added to the gradient (Karimireddy et al. 2020, algorithm 1).
    pub(crate) correction: Option<&'a [f32]>,
}

impl Adjustment<'_> {
    /// Returns whether any adjustment is active.
    fn is_needed(&self) -> bool {
        self.value_max < f32::INFINITY
            || self.scale != 1.0
            || self.proximal_term != 0.0
            || self.correction.is_some()
    }

    /// Writes the adjusted gradient of the weights at `at`, and returns it.
    fn apply<'a>(
        &self,
        at: Range<usize>,
        weights: &[f32],
        gradient: &[f32],
        adjusted: &'a mut [f32],
    ) -> &'a [f32] {
        if self.value_max < f32::INFINITY {
            let limit = self.value_max;
            for (adjusted, gradient) in adjusted.iter_mut().zip(gradient) {
                *adjusted = (self.scale * gradient).clamp(-limit, limit);
            }
        } else if self.scale != 1.0 {
            for (adjusted, gradient) in adjusted.iter_mut().zip(gradient) {
                *adjusted = self.scale * gradient;
            }
        } else {
            adjusted.copy_from_slice(gradient);
        }
        if self.proximal_term != 0.0 {
            let pairs = weights.iter().zip(&self.starting_weights[at.clone()]);
            for (adjusted, (weight, start)) in adjusted.iter_mut().zip(pairs) {
                *adjusted += self.proximal_term * (weight - start);
            }
        }
        if let Some(correction) = self.correction {
            for (adjusted, correction) in adjusted.iter_mut().zip(&correction[at]) {
                *adjusted += correction;
            }
        }
        adjusted
    }
}

/// A tensor whose weights are updated.
#[derive(Debug)]
pub(crate) struct UpdatedTensor<'a> {
    /// The range in the weights.
    pub(crate) range: Range<usize>,
    pub(crate) shape: MatrixShape,
    pub(crate) gradient: &'a [f32],
    /// The optimizer's state of this tensor.
    pub(crate) state: &'a mut [f32],
    /// At least as long as the rule needs.
    pub(crate) workspace: &'a mut [f32],
}

/// Updates a tensor, and returns whether all of its weights are finite.
pub(crate) fn update_by(
    rule: &Rule,
    step: StepNumber,
    adjustment: &Adjustment<'_>,
    tensor: UpdatedTensor<'_>,
    weights: &mut [f32],
) -> bool {
    let UpdatedTensor { range, shape, gradient, state, workspace } = tensor;
    match rule {
        Rule::Elements(optimizer) => {
            update_tensor(&**optimizer, step, adjustment, range, weights, gradient, state)
        }
        Rule::Tensors(optimizer) => {
            let (adjusted, workspace) = workspace.split_at_mut(range.len());
            let weights = &mut weights[range.clone()];
            adjustment.apply(range, weights, gradient, adjusted);
            optimizer.update(step, shape, weights, adjusted, state, workspace);
            are_finite(weights)
        }
    }
}

fn are_finite(weights: &[f32]) -> bool {
    vectorised(
        #[inline(always)]
        || weights.iter().fold(true, |all, weight| all & weight.is_finite()),
    )
}

/// Updates one tensor at `range` in `weights`, and returns whether all of its weights are finite.
///
/// `state` holds the optimizer's slots of this tensor, one after another.
fn update_tensor(
    optimizer: &dyn Optimizer,
    step: StepNumber,
    adjustment: &Adjustment<'_>,
    range: Range<usize>,
    weights: &mut [f32],
    gradient: &[f32],
    state: &mut [f32],
) -> bool {
    let mut adjusted = [0.0; PIECE];
    let mut is_finite = true;
    let length = range.len();
    let slots = optimizer.slots();
    let (first, second) = state.split_at_mut(if slots > 0 { length } else { 0 });
    for start in (0..length).step_by(PIECE) {
        let piece = start..length.min(start + PIECE);
        let at = range.start + piece.start..range.start + piece.end;
        let weights = &mut weights[at.clone()];
        let gradient = &gradient[piece.clone()];
        let gradient = match adjustment.is_needed() {
            true => adjustment.apply(at, weights, gradient, &mut adjusted[..piece.len()]),
            false => gradient,
        };
        let state: [&mut [f32]; SLOTS_MAX] = [
            if slots > 0 { &mut first[piece.clone()] } else { &mut [] },
            if slots > 1 { &mut second[piece] } else { &mut [] },
        ];
        optimizer.update(step, weights, gradient, state);
        is_finite &= are_finite(weights);
    }
    is_finite
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::LocalOptimizer;

    use super::super::optimizer::rule;
    use super::*;

    fn optimizer(plan: LocalOptimizer) -> Box<dyn Optimizer> {
        let Rule::Elements(optimizer) = rule(plan) else { panic!("its rule is one for each element") };
        optimizer
    }

    const NONE: Adjustment<'static> = Adjustment {
        scale: 1.0,
        value_max: f32::INFINITY,
        proximal_term: 0.0,
        starting_weights: &[],
        correction: None,
    };
    const STEP: StepNumber = StepNumber { number: 1, learning_rate: 0.5 };

    fn adjusted(adjustment: &Adjustment<'_>, weights: &[f32], gradient: &[f32]) -> Vec<f32> {
        let mut adjusted = vec![0.0; weights.len()];
        adjustment.apply(0..weights.len(), weights, gradient, &mut adjusted);
        adjusted
    }

    #[test]
    fn adjustments_by_hand() {
        let (weights, gradient) = ([2.0, 3.0], [4.0, -1.0]);
        assert_eq!(adjusted(&NONE, &weights, &gradient), gradient);
        assert_eq!(adjusted(&Adjustment { scale: 0.5, ..NONE }, &weights, &gradient), [2.0, -0.5]);
        assert_eq!(adjusted(&Adjustment { value_max: 0.75, ..NONE }, &weights, &gradient), [0.75, -0.75]);
        let pulled = Adjustment { proximal_term: 0.5, starting_weights: &[0.0, 3.0], ..NONE };
        assert_eq!(adjusted(&pulled, &weights, &gradient), [5.0, -1.0]);
        let corrected = Adjustment { scale: 0.5, correction: Some(&[10.0, -10.0]), ..NONE };
        assert_eq!(adjusted(&corrected, &weights, &gradient), [12.0, -10.5]);
    }

    #[test]
    fn pieces_are_updated_like_the_whole() {
        let plan: LocalOptimizer = serde_json::from_str(r#"{"adam":{"learning_rate":0.5}}"#).unwrap();
        let optimizer = optimizer(plan);
        let length = 2 * PIECE + 100;
        let gradient: Vec<f32> = (0..length).map(|index| (index as f32).sin()).collect();
        let (mut whole, mut means, mut squares) = (vec![0.5; length], vec![0.0; length], vec![0.0; length]);
        optimizer.update(STEP, &mut whole, &gradient, [&mut means, &mut squares]);
        let (mut weights, mut state) = (vec![0.5; length + 7], vec![0.0; 2 * length]);
        let range = 7..length + 7;
        assert!(update_tensor(&*optimizer, STEP, &NONE, range, &mut weights, &gradient, &mut state));
        assert_eq!(weights[..7], [0.5; 7]);
        assert_eq!(weights[7..], whole);
        assert_eq!(state, [means, squares].concat());
    }

    #[test]
    fn rules_of_whole_tensors_see_the_adjusted_gradient() {
        for json in [r#"{"muon":{"learning_rate":0.5}}"#, r#"{"adafactor":{"learning_rate":0.5}}"#] {
            let rule = rule(serde_json::from_str(json).unwrap());
            let shape = MatrixShape::of(&[2, 3]);
            let run = |adjustment: &Adjustment<'_>, gradient: &[f32]| {
                let (mut weights, mut state) = (vec![0.5; 7], vec![0.0; rule.state_length(shape)]);
                let workspace = &mut vec![0.0; rule.workspace_length(&[shape])];
                let tensor = UpdatedTensor { range: 1..7, shape, gradient, state: &mut state, workspace };
                let is_finite = update_by(&rule, STEP, adjustment, tensor, &mut weights);
                (weights, state, is_finite)
            };
            let gradient = [1.0, -2.0, 3.0, 0.5, 0.0, -1.0];
            let cut = run(&Adjustment { value_max: 0.75, ..NONE }, &gradient);
            assert_eq!(cut, run(&NONE, &gradient.map(|slope| slope.clamp(-0.75, 0.75))), "{json}");
            assert!(cut.2 && cut.0[0] == 0.5 && cut.0[1..] != [0.5; 6], "{json}");
            assert!(!run(&NONE, &[f32::NAN; 6]).2, "{json}");
        }
    }

    #[test]
    fn a_weight_that_is_not_finite_is_noticed() {
        let optimizer = optimizer(LocalOptimizer::sgd(1.0));
        for bad in [f32::NAN, f32::INFINITY] {
            let mut weights = vec![0.0; PIECE + 1];
            let mut gradient = vec![1.0; PIECE + 1];
            assert!(update_tensor(&*optimizer, STEP, &NONE, 0..PIECE + 1, &mut weights, &gradient, &mut []));
            gradient[0] = bad;
            assert!(!update_tensor(&*optimizer, STEP, &NONE, 0..PIECE + 1, &mut weights, &gradient, &mut []));
        }
    }
}
