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
    /// One cohort, one quorum, one deadline, one commit.
    Synchronous(Synchronous),
    /// One cohort, one commit, and stragglers are asked for what they have.
    AggressiveSynchronous(AggressiveSynchronous),
    /// A commit at the end of every time slot.
    SemiSynchronous(SemiSynchronous),
    /// A commit for every so many updates.
    Buffered(Buffered),
    /// A commit for every update.
    Asynchronous(Asynchronous),
    /// A commit for every update, and nobody far ahead of the slowest.
    StaleSynchronous(StaleSynchronous),
    /// The same, with a bound that the controller adapts.
    DynamicStaleSynchronous(DynamicStaleSynchronous),
    /// A commit for every update, and nobody starts while others have missed too much.
    ValueBounded(ValueBounded),
}

impl SchedulingChoice {
    /// Returns the policy.
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
