//! Which weights a training changes, and where they lie.

use std::ops::Range;

use super::TrainingPlan;
use crate::fit::{FitError, frozen_parameters};
use crate::model::{Model, ParameterKind};

/// What becomes of one parameter's tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A gradient changes it, if the loss depends on it.
    Trained,
    /// A running statistic: the forward pass changes it.
    Statistic,
    /// Nothing does.
    Frozen,
}

/// The role and the place of every parameter.
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    pub(crate) roles: Vec<Role>,
    /// Where each lies in a flat vector of weights.
    pub(crate) ranges: Vec<Range<usize>>,
}

impl Parameters {
    /// # Errors
    /// Returns [`FitError::FrozenPattern`] if a pattern of the plan stands for no parameter.
    pub(crate) fn new(model: &Model, plan: &TrainingPlan) -> Result<Self, FitError> {
        let frozen = frozen_parameters(model.parameters(), &plan.frozen)?;
        let roles = model.parameters().iter().zip(frozen).map(|(spec, is_frozen)| match spec.kind {
            _ if is_frozen => Role::Frozen,
            ParameterKind::Trained => Role::Trained,
            ParameterKind::Statistic => Role::Statistic,
        });
        Ok(Self { roles: roles.collect(), ranges: model.parameter_ranges() })
    }

    /// The places of the running statistics.
    pub(super) fn statistics(&self) -> impl Iterator<Item = Range<usize>> {
        let of_role = self.roles.iter().zip(&self.ranges).filter(|(role, _)| **role == Role::Statistic);
        of_role.map(|(_, range)| range.clone())
    }
}
