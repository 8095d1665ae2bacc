//! Scheduling policies decide when clients start, when versions are committed, how stale updates are weighted, and
//! which assignments are dropped.
//!
//! Bulk-synchronous and fully asynchronous training differ only in these four decisions. So a policy is pure and makes
//! only them; everything else is one engine.
//!
//! There are two shapes. In a *cohort* policy, a round draws one cohort, waits for its updates and commits. In a
//! *flow* policy, clients start and report continuously. An assignment may outlive the round in which it was
//! given, and a round is the time between two commits.

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

use folkmoot_protocol::{ClientId, Fault};

use crate::{abandon_reason::AbandonReason, participation::Waiting};

/// The largest cohort, and the maximum number of clients that may train at the same time.
pub const COHORT_MAX: u64 = 100_000;

/// A decision on whether clients may start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartDecision {
    /// Draw clients.
    Draw {
        /// The number of clients to draw, including over-selection.
        cohort: u64,
    },
    /// Start no clients yet.
    Wait,
    /// Start no clients in this round: abandon it.
    Abandon(AbandonReason),
}

/// A decision on whether the accepted updates make a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitDecision {
    /// Aggregate the accepted updates.
    Commit,
    /// Do not commit yet.
    Wait,
    /// Do not commit yet; ask the clients that still train to send their partial updates. Afterwards [`Facts::asked`]
    /// is set.
    Ask,
    /// Do not commit in this round: abandon it.
    Abandon(AbandonReason),
}

/// The parameters of a flow policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The maximum number of updates that one commit combines. Later updates wait for the next round. `None` means no
    /// limit.
    pub updates_max: Option<u64>,
    /// Milliseconds after which a silent client no longer takes part, for policies that use the clients' clocks.
    /// `None` for other policies; [`Facts`] then needs no members.
    pub absence_milliseconds: Option<u64>,
    /// True if the policy needs [`Facts::changes`], because it bounds how far the model moved.
    pub needs_changes: bool,
}

impl Flow {
    /// Returns a flow with this limit on updates that needs neither members nor changes.
    fn of(updates_max: Option<u64>) -> Self {
        Self { updates_max, absence_milliseconds: None, needs_changes: false }
    }
}

/// A scheduling policy: maps facts to decisions.
pub trait SchedulingPolicy: Send + Sync {
    /// Adds the faults of the policy's settings to `faults`.
    fn validate(&self, faults: &mut Vec<Fault>);

    /// Returns the minimum and the maximum number of updates that one commit combines.
    fn updates(&self) -> (u64, u64);

    /// Returns the maximum number of clients that train at the same time.
    fn concurrency(&self) -> u64;

    /// Returns the treatment of updates from older versions.
    fn staleness(&self) -> Staleness {
        Staleness::ignored()
    }

    /// Returns the parameters of a flow policy, or `None` for a cohort policy.
    fn flow(&self) -> Option<Flow> {
        None
    }

    /// Returns the minimum number of enrolled clients of a crowd: a population so large that extra clients drawn now
    /// are not missed in the next round. Returns `None` if the policy does not depend on the population's size.
    fn crowd(&self) -> Option<u64> {
        None
    }

    /// Returns whether a round that has drawn its cohort always makes a version, because privacy is claimed for
    /// the draw.
    fn keeps_draws(&self) -> bool {
        false
    }

    /// Returns whether training clients may be asked to send their partial updates. Only then do assignments tell
    /// clients to listen for such a request.
    fn asks(&self) -> bool {
        false
    }

    /// Returns whether this waiting, eligible client may start now.
    fn may_start(&self, _facts: &Facts<'_>, _client: &Waiting) -> bool {
        true
    }

    /// Decides how many of `waiting` clients start now. [`SchedulingPolicy::may_start`] allows all of them to start.
    fn start(&self, facts: &Facts<'_>, waiting: u64) -> StartDecision {
        match self.concurrency().saturating_sub(facts.counts.outstanding).min(waiting) {
            0 => StartDecision::Wait,
            cohort => StartDecision::Draw { cohort },
        }
    }

    /// Decides whether the accepted updates make a commit.
    fn commit(&self, facts: &Facts<'_>) -> CommitDecision;

    /// Returns the weight, 0 to 1, of an update whose base version is `staleness` versions old. `None` rejects
    /// it. A cohort policy accepts only updates from the round's own base version.
    fn staleness_weight(&self, staleness: u64) -> Option<f64> {
        match self.flow() {
            Some(_) => self.staleness().factor(staleness),
            None => (staleness == 0).then_some(1.0),
        }
    }

    /// Returns whether to drop this assignment before its deadline.
    fn drops(&self, _facts: &Facts<'_>, _outstanding: &Outstanding) -> bool {
        false
    }

    /// Returns the clock at which a new or returning client starts. It must not hold the others back.
    fn first_clock(&self, _facts: &Facts<'_>) -> u64 {
        0
    }

    /// Returns the clock up to which a starting client may keep starting without another decision. `None` grants
    /// nothing. The grant is stored with the client and returned as [`Member::granted_until`].
    fn grant(&self, _facts: &Facts<'_>, _client: ClientId) -> Option<u64> {
        None
    }

    /// Returns the milliseconds until an assignment is dropped.
    fn assignment_milliseconds(&self) -> u64;
}
