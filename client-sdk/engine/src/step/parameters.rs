//! The roles and positions of a model's parameters in training.

use std::ops::Range;

use folkmoot_onnx::ParameterKind;
use folkmoot_protocol::{NamePattern, RunningStatistics};

use crate::fit::{FitError, frozen_parameters, trained_parameters};
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
    /// Finds the roles. `trained` takes precedence over `frozen`. The running statistics of a batch
    /// normalisation are frozen if one of them is, or if its scale and bias are.
    ///
    /// # Errors
    /// Returns [`FitError::FrozenPattern`] or [`FitError::TrainedPattern`] if a pattern matches no parameter.
    pub(crate) fn new(
        model: &Model,
        frozen: &[NamePattern],
        trained: &[NamePattern],
    ) -> Result<Self, FitError> {
        let frozen = frozen_parameters(model.parameters(), frozen)?;
        let trained = trained_parameters(model.parameters(), trained)?;
        let chosen = model.parameters().iter().zip(frozen.into_iter().zip(trained));
        let roles = chosen.map(|(spec, (is_frozen, is_trained))| match spec.kind {
            ParameterKind::Constant if is_trained => Role::Trained,
            ParameterKind::Constant => Role::Frozen,
            _ if is_frozen && !is_trained => Role::Frozen,
            ParameterKind::Trained => Role::Trained,
            ParameterKind::Statistic => Role::Statistic,
        });
        let mut roles: Vec<Role> = roles.collect();
        for [scale, bias, mean, variance] in model.normalizations() {
            let is_frozen = |index: usize| roles[index] == Role::Frozen;
            let affine: Vec<usize> = [scale, bias].into_iter().flatten().collect();
            let is_still = !affine.is_empty() && affine.iter().all(|index| is_frozen(*index));
            let statistics = [mean, variance].into_iter().flatten();
            if is_still || statistics.clone().any(is_frozen) {
                statistics.for_each(|index| roles[index] = Role::Frozen);
            }
        }
        Ok(Self { roles, ranges: model.parameter_ranges() })
    }

    /// Returns for each parameter whether it never changes.
    pub(crate) fn frozen(&self) -> Vec<bool> {
        self.roles.iter().map(|role| *role == Role::Frozen).collect()
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
