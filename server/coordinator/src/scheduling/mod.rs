//! When a client may start, when a version is committed, what a stale update is worth, whom to drop.
//!
//! These four questions are all that distinguishes bulk-synchronous from fully asynchronous training, so a
//! policy is pure and answers just them; everything else is one engine.
//!
//! There are two shapes. In a *cohort* policy a round draws one cohort, waits for its updates and commits. In a
//! *flow* policy clients start and report all the time, an assignment outlives the round in which it was given,
//! and a round is what lies between two commits.

mod aggressive_synchronous;
mod asynchronous;
mod buffered;
mod check;
mod choice;
mod clocks;
mod dynamic_stale_synchronous;
mod facts;
mod outstanding;
mod sampled;
#[cfg(test)]
pub(crate) mod samples;
mod semi_synchronous;
mod stale_synchronous;
mod staleness;
mod synchronous;
mod value_bounded;

pub use aggressive_synchronous::AggressiveSynchronous;
pub use asynchronous::Asynchronous;
pub use buffered::Buffered;
pub use choice::SchedulingChoice;
pub use clocks::{Clocks, Member};
pub use dynamic_stale_synchronous::{DynamicStaleSynchronous, extra_steps};
pub use facts::{Facts, ReportCounts};
pub use outstanding::Outstanding;
pub use sampled::Sampled;
pub use semi_synchronous::SemiSynchronous;
pub use stale_synchronous::StaleSynchronous;
pub use staleness::{AtBound, Correction, Staleness, StalenessWeight};
pub use synchronous::Synchronous;
pub use value_bounded::ValueBounded;

use folkmoot_protocol::ClientId;

use crate::{abandon_reason::AbandonReason, fault::Fault, participation::Waiting};

/// The cohort that a deployment draws at most, and the clients that train at the same time.
pub const COHORT_MAX: u64 = 100_000;

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
    /// Not yet, and the clients that are still at work are asked for what they have now. Asked once, a round says since
    /// when in [`Facts::asked`].
    Ask,
    /// It never will.
    Abandon(AbandonReason),
}

/// What only a flow policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The most updates that one commit combines; one that comes later waits for the next round. `None` is without
    /// bound.
    pub updates_max: Option<u64>,
    /// Milliseconds after which a client that is not heard of does not take part any more, for a policy that decides
    /// by the clients' clocks. `None` for one that does not: the facts then need no members.
    pub absence_milliseconds: Option<u64>,
    /// Says that the policy decides by how far the model moved, so that the facts need the changes.
    pub needs_changes: bool,
}

impl Flow {
    /// A flow of commits of so many updates, which decides by the number of versions only.
    fn of(updates_max: Option<u64>) -> Self {
        Self { updates_max, absence_milliseconds: None, needs_changes: false }
    }
}

/// A scheduling policy: facts in, decisions out.
pub trait SchedulingPolicy: Send + Sync {
    /// Lists what is wrong with its numbers.
    fn validate(&self, faults: &mut Vec<Fault>);

    /// The fewest and the most updates that one commit combines.
    fn updates(&self) -> (u64, u64);

    /// How many clients train at the same time, at most.
    fn concurrency(&self) -> u64;

    /// What is made of updates that are based on an old version.
    fn staleness(&self) -> Staleness {
        Staleness::ignored()
    }

    /// Says what a flow policy says; `None` for one that draws a cohort a round.
    fn flow(&self) -> Option<Flow> {
        None
    }

    /// How many enrolled clients are a crowd to it; `None` if it decides the same way for every population.
    fn crowd(&self) -> Option<u64> {
        None
    }

    /// Says that a round which has drawn its cohort makes a version, whatever comes of the draw: privacy is claimed of it.
    fn keeps_draws(&self) -> bool {
        false
    }

    /// Says that clients at work may be asked for what they have: only then do their assignments tell them to listen.
    fn asks(&self) -> bool {
        false
    }

    /// May this client start now? It waits and is eligible.
    fn may_start(&self, _facts: &Facts<'_>, _client: &Waiting) -> bool {
        true
    }

    /// How many of `waiting` clients that may start do so now?
    fn start(&self, facts: &Facts<'_>, waiting: u64) -> StartDecision;

    /// Do the accepted updates make a commit?
    fn commit(&self, facts: &Facts<'_>) -> CommitDecision;

    /// What is an update worth that is based on a model `staleness` versions old, from 0 to 1? `None` refuses it.
    fn staleness_weight(&self, staleness: u64) -> Option<f64> {
        self.staleness().factor(staleness)
    }

    /// Is this assignment to be dropped before its deadline?
    fn drops(&self, _facts: &Facts<'_>, _outstanding: &Outstanding) -> bool {
        false
    }

    /// The clock with which a client begins that is new, or was away: it shall not hold the others back.
    fn first_clock(&self, _facts: &Facts<'_>) -> u64 {
        0
    }

    /// Up to which clock may this client go on starting without being asked again, now that it starts? `None` grants
    /// nothing. What is granted is remembered with the client, and comes back in [`Member::granted_until`].
    fn grant(&self, _facts: &Facts<'_>, _client: ClientId) -> Option<u64> {
        None
    }

    /// Milliseconds from an assignment to the moment at which it is dropped.
    fn assignment_milliseconds(&self) -> u64;
}
