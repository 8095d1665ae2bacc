//! The roles and positions of a model's parameters in training.

use std::ops::Range;

use folkmoot_onnx::ParameterKind;
use folkmoot_protocol::{NamePattern, RunningStatistics};

use crate::fit::{FitError, frozen_parameters};
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

/// The role and the range of every parameter.
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    pub(crate) roles: Vec<Role>,
    /// The range of each parameter in a flat vector of weights.
    pub(crate) ranges: Vec<Range<usize>>,
}

impl Parameters {
    /// # Errors
    /// Returns [`FitError::FrozenPattern`] if a pattern matches no parameter.
    pub(crate) fn new(model: &Model, frozen: &[NamePattern]) -> Result<Self, FitError> {
        let frozen = frozen_parameters(model.parameters(), frozen)?;
        let roles = model.parameters().iter().zip(frozen).map(|(spec, is_frozen)| match spec.kind {
            _ if is_frozen => Role::Frozen,
            ParameterKind::Trained => Role::Trained,
            ParameterKind::Statistic => Role::Statistic,
        });
        Ok(Self { roles: roles.collect(), ranges: model.parameter_ranges() })
    }

    /// Returns for each parameter whether training can change it in the shared model.
    pub(crate) fn travelling(&self, statistics: RunningStatistics) -> impl Iterator<Item = bool> {
        self.roles.iter().map(move |role| match role {
            Role::Trained => true,
            Role::Statistic => statistics == RunningStatistics::Aggregate,
            Role::Frozen => false,
        })
    }
}
