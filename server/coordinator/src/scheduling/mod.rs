//! When a client may start, when a version is committed, what a stale update is worth, whom to drop.
//!
//! These four questions are all that distinguishes bulk-synchronous from fully asynchronous training, so a
//! policy is pure and answers just them; everything else is one engine.

mod synchronous;

use serde::{Deserialize, Serialize};
pub use synchronous::Synchronous;

use crate::{round::AbandonReason, task::Fault};

/// The cohort that a deployment draws at most.
pub const COHORT_MAX: u64 = 100_000;

/// What a round's assignments have come to, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportCounts {
    /// Updates that count.
    pub accepted: u64,
    /// Assignments that may still bring one.
    pub outstanding: u64,
    /// Assignments that were given up, refused or have expired.
    pub dropped: u64,
}

/// The answer to: may clients start now?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartDecision {
    /// Draw this many.
    Draw {
        /// Over-selection included.
        cohort: u64,
    },
    /// Not yet.
    Wait,
    /// Not in this round any more.
    Abandon(AbandonReason),
}

/// The answer to: does what has arrived make a commit?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitDecision {
    /// Aggregate what there is.
    Commit,
    /// Not yet.
    Wait,
    /// It never will.
    Abandon(AbandonReason),
}

/// A scheduling policy: facts in, decisions out.
pub trait SchedulingPolicy {
    /// May clients start now, with `waiting` eligible ones, `elapsed` milliseconds into the selection?
    fn start(&self, waiting: u64, elapsed: u64) -> StartDecision;

    /// Do these reports make a commit, `elapsed` milliseconds into the reporting?
    fn commit(&self, counts: ReportCounts, elapsed: u64) -> CommitDecision;

    /// What is an update worth that is based on a model `staleness` versions old? `None` refuses it.
    fn staleness_weight(&self, staleness: u64) -> Option<f64>;

    /// Milliseconds from an assignment to the moment at which it is dropped.
    fn assignment_milliseconds(&self) -> u64;
}

/// The scheduling policy of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SchedulingChoice {
    /// One cohort, one quorum, one deadline, one commit.
    Synchronous(Synchronous),
}

impl SchedulingChoice {
    /// Returns the policy.
    pub fn policy(&self) -> &dyn SchedulingPolicy {
        match self {
            SchedulingChoice::Synchronous(policy) => policy,
        }
    }

    /// Returns the most updates that one commit can combine.
    pub fn cohort_max(&self) -> u64 {
        match self {
            SchedulingChoice::Synchronous(policy) => policy.cohort(),
        }
    }

    pub(crate) fn validate(&self, faults: &mut Vec<Fault>) {
        match self {
            SchedulingChoice::Synchronous(policy) => policy.validate(faults),
        }
    }
}
