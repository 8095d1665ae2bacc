//! Changes the values of a tensor after each step of the optimizer.

use folkmoot_graph::vectorised;
use folkmoot_onnx::ParameterSpec;
use folkmoot_protocol::{NamePattern, TrainingPlan};

use crate::fit::{FitError, matching};

/// A proximal step of the l1 norm, and then a projection into a range. Together, they are the proximal step of the l1
/// norm plus the range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Constraint {
    /// The weight of Σ|w|; 0 without it.
    strength: f32,
    min: f32,
    max: f32,
}

impl Constraint {
    /// Returns the constraints of a plan, with the positions of their parameters.
    ///
    /// # Errors
    /// Returns [`FitError::Pattern`] if a pattern matches no parameter.
    pub(crate) fn of(
        parameters: &[ParameterSpec],
        plan: &TrainingPlan,
    ) -> Result<Vec<(usize, Self)>, FitError> {
        let mut all =
            vec![Self { strength: 0.0, min: f32::NEG_INFINITY, max: f32::INFINITY }; parameters.len()];
        let mut change = |patterns: &[NamePattern], list, change: &dyn Fn(&mut Self)| {
            let chosen = matching(parameters, patterns, list)?;
            all.iter_mut().zip(chosen).filter(|(_, is_chosen)| *is_chosen).for_each(|(one, _)| change(one));
            Ok::<_, FitError>(())
        };
        if let Some(l1) = &plan.l1 {
            change(&l1.tensors, "l1.tensors", &|one| one.strength = l1.strength)?;
        }
        if let Some(range) = &plan.value_range {
            change(&range.tensors, "value_range.tensors", &|one| {
                one.min = range.min.unwrap_or(one.min);
                one.max = range.max.unwrap_or(one.max);
            })?;
        }
        let is_needed =
            |one: &Self| one.strength > 0.0 || one.min > f32::NEG_INFINITY || one.max < f32::INFINITY;
        Ok(all.into_iter().enumerate().filter(|(_, one)| is_needed(one)).collect())
    }

    /// Changes the weights after a step with this learning rate.
    pub(crate) fn apply(self, learning_rate: f32, weights: &mut [f32]) {
        let threshold = learning_rate * self.strength;
        vectorised(
            #[inline(always)]
            || {
                for weight in weights {
                    let shrunk = (weight.abs() - threshold).max(0.0).copysign(*weight);
                    // Adding 0 turns -0 into 0.
                    *weight = if threshold > 0.0 { shrunk + 0.0 } else { *weight }.clamp(self.min, self.max);
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_shrink_by_the_threshold_and_are_projected() {
        let apply = |strength, min, max| {
            let mut weights = [2.0, 0.25, -0.25, -2.0, 0.0];
            Constraint { strength, min, max }.apply(0.5, &mut weights);
            weights
        };
        let (least, most) = (f32::NEG_INFINITY, f32::INFINITY);
        assert_eq!(apply(0.25, least, most), [1.875, 0.125, -0.125, -1.875, 0.0]);
        let sparse = apply(1.0, least, most);
        assert_eq!(sparse, [1.5, 0.0, 0.0, -1.5, 0.0]);
        assert!(sparse.iter().all(|weight| weight.to_bits() != (-0.0f32).to_bits()));
        assert_eq!(apply(0.0, 0.0, 1.0), [1.0, 0.25, 0.0, 0.0, 0.0]);
        assert_eq!(apply(0.25, -1.0, most), [1.875, 0.125, -0.125, -1.0, 0.0]);
    }
}
