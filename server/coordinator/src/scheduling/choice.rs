use serde::{Deserialize, Serialize};

use super::{
    AggressiveSynchronous, Asynchronous, Buffered, DynamicStaleSynchronous, SchedulingPolicy,
    SemiSynchronous, StaleSynchronous, Synchronous, ValueBounded,
};

/// The scheduling policy of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SchedulingChoice {
    /// Synchronous rounds: one cohort, one deadline, one commit.
    Synchronous(Synchronous),
    /// Synchronous rounds that ask stragglers to send their partial updates.
    AggressiveSynchronous(AggressiveSynchronous),
    /// A commit at the end of every time slot.
    SemiSynchronous(SemiSynchronous),
    /// A commit for every `buffer_goal` updates.
    Buffered(Buffered),
    /// A commit for every update.
    Asynchronous(Asynchronous),
    /// A commit for every update. No client gets too far ahead of the slowest.
    StaleSynchronous(StaleSynchronous),
    /// Like stale synchronous, with an adaptive bound.
    DynamicStaleSynchronous(DynamicStaleSynchronous),
    /// A commit for every update. No client starts while others have missed too much change.
    ValueBounded(ValueBounded),
}

impl SchedulingChoice {
    /// Returns the chosen policy with its settings.
    pub fn policy(&self) -> &dyn SchedulingPolicy {
        match self {
            SchedulingChoice::Synchronous(policy) => policy,
            SchedulingChoice::AggressiveSynchronous(policy) => policy,
            SchedulingChoice::SemiSynchronous(policy) => policy,
            SchedulingChoice::Buffered(policy) => policy,
            SchedulingChoice::Asynchronous(policy) => policy,
            SchedulingChoice::StaleSynchronous(policy) => policy,
            SchedulingChoice::DynamicStaleSynchronous(policy) => policy,
            SchedulingChoice::ValueBounded(policy) => policy,
        }
    }
}
