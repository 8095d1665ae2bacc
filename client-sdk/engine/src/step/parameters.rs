//! The roles and positions of a model's parameters in training.

use std::ops::Range;

use folkmoot_onnx::ParameterKind;
use folkmoot_protocol::{LocalOptimizer, PersonalTraining, RunningStatistics, TrainingPlan};

use super::constraint::Constraint;
use crate::fit::{FitError, matching};
use crate::model::Model;

/// The role of a parameter's tensor in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Trained by its gradient, if the loss depends on it.
    Trained,
    /// A running statistic: the forward pass changes it.
    Statistic,
    /// Never changed.
    Frozen,
}

/// A part of a training. Only plans with a personal training have the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Trains the weights that only this client keeps.
    Personal,
    /// Trains the shared weights.
    Shared,
}

/// The role and the range of every parameter.
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    pub(crate) roles: Vec<Role>,
    /// For each parameter whether each client keeps its own.
    personal: Vec<bool>,
    /// For each parameter whether training can change it in the shared model.
    travelling: Vec<bool>,
    /// The constraints of parameters, by position.
    constraints: Vec<(usize, Constraint)>,
    /// The range of each parameter in a flat vector of weights.
    pub(crate) ranges: Vec<Range<usize>>,
}

impl Parameters {
    /// Finds the roles. The plan's `trained` takes precedence over `frozen`. The running statistics of a batch
    /// normalisation are frozen if one of them is, or if its scale and bias are.
    ///
    /// # Errors
    /// Returns [`FitError::Pattern`] if a pattern matches no parameter (also of `l1` or `value_range`), [`FitError::PersonalFrozen`] if a personal
    /// parameter is not trained, and [`FitError::TooManyForNewton`] if Newton's method trains too many.
    pub(crate) fn new(model: &Model, plan: &TrainingPlan) -> Result<Self, FitError> {
        let frozen = matching(model.parameters(), &plan.frozen, "frozen")?;
        let trained = matching(model.parameters(), &plan.trained, "trained")?;
        let mut personal = matching(model.parameters(), &plan.personal, "personal")?;
        let chosen = model.parameters().iter().zip(frozen.into_iter().zip(trained));
        let roles = chosen.map(|(spec, (is_frozen, is_trained))| match spec.kind {
            ParameterKind::Constant if is_trained => Role::Trained,
            ParameterKind::Constant => Role::Frozen,
            _ if is_frozen && !is_trained => Role::Frozen,
            ParameterKind::Trained => Role::Trained,
            ParameterKind::Statistic => Role::Statistic,
        });
        let mut roles: Vec<Role> = roles.collect();
        freeze_statistics(model, &mut roles);
        for ((spec, role), is_personal) in model.parameters().iter().zip(&roles).zip(&mut personal) {
            if *is_personal && *role == Role::Frozen {
                return Err(FitError::PersonalFrozen { name: spec.name.clone() });
            }
            *is_personal |= *role == Role::Statistic && plan.statistics == RunningStatistics::KeepLocal;
        }
        let travelling = roles.iter().zip(&personal);
        let travelling =
            travelling.map(|(role, is_personal)| *role != Role::Frozen && !is_personal).collect();
        let constraints = Constraint::of(model.parameters(), plan)?;
        let ranges = model.parameter_ranges();
        let of_trained = roles.iter().zip(&ranges).filter(|(role, _)| **role == Role::Trained);
        let (found, max) =
            (of_trained.map(|(_, range)| range.len()).sum(), LocalOptimizer::NEWTON_PARAMETERS_MAX);
        if plan.optimizer.is_newton() && found > max {
            return Err(FitError::TooManyForNewton { found, max });
        }
        Ok(Self { roles, personal, travelling, constraints, ranges })
    }

    /// Freezes the parameters that this phase of the plan's training does not train. With FedRep, each phase trains the
    /// parameters that the other phase freezes; otherwise, each phase trains all.
    pub(crate) fn in_phase(mut self, model: &Model, plan: &TrainingPlan, phase: Phase) -> Self {
        if !matches!(plan.personal_training, Some(PersonalTraining::FedRep { .. })) {
            return self;
        }
        let mut roles = self.roles.clone();
        for (role, is_personal) in roles.iter_mut().zip(&self.personal) {
            let is_fixed = match phase {
                Phase::Personal => !is_personal,
                Phase::Shared => *is_personal && *role == Role::Trained,
            };
            if is_fixed {
                *role = Role::Frozen;
            }
        }
        freeze_statistics(model, &mut roles);
        // Shared statistics of a personal layer have no other phase in which they could change.
        if phase == Phase::Shared {
            for (index, role) in roles.iter_mut().enumerate() {
                if self.travelling[index] && self.roles[index] == Role::Statistic {
                    *role = Role::Statistic;
                }
            }
        }
        self.roles = roles;
        self
    }

    /// Limits the values of trained tensors after a step with this learning rate.
    pub(crate) fn constrain(&self, learning_rate: f32, weights: &mut [f32]) {
        for (index, constraint) in &self.constraints {
            if self.roles[*index] == Role::Trained {
                constraint.apply(learning_rate, &mut weights[self.ranges[*index].clone()]);
            }
        }
    }

    /// Returns for each parameter whether it never changes.
    pub(crate) fn frozen(&self) -> Vec<bool> {
        self.roles.iter().map(|role| *role == Role::Frozen).collect()
    }

    /// Returns for each parameter whether training can change it in the shared model.
    pub(crate) fn travelling(&self) -> impl Iterator<Item = bool> {
        self.travelling.iter().copied()
    }

    /// Returns for each parameter whether each client keeps its own.
    pub(crate) fn personal(&self) -> &[bool] {
        &self.personal
    }
}

/// Freezes the running statistics of a batch normalisation if one of them is frozen, or if its scale and bias are.
fn freeze_statistics(model: &Model, roles: &mut [Role]) {
    for [scale, bias, mean, variance] in model.normalizations() {
        let is_frozen = |index: usize| roles[index] == Role::Frozen;
        let affine: Vec<usize> = [scale, bias].into_iter().flatten().collect();
        let is_still = !affine.is_empty() && affine.iter().all(|index| is_frozen(*index));
        let statistics = [mean, variance].into_iter().flatten();
        if is_still || statistics.clone().any(is_frozen) {
            statistics.for_each(|index| roles[index] = Role::Frozen);
        }
    }
}
