use folkmoot_protocol::{Timestamp, saturating::to_length};
use serde::{Deserialize, Serialize};

use super::{Member, Outstanding};

/// The counts of a round's assignments at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportCounts {
    /// The number of accepted updates.
    pub accepted: u64,
    /// The number of assignments that may still produce an update.
    pub outstanding: u64,
    /// The number of assignments that were aborted, were rejected or have expired.
    pub dropped: u64,
}

/// Everything that a policy may know, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The current time.
    pub now: Timestamp,
    /// When the round's phase began.
    pub since: Timestamp,
    /// When the training clients were asked to send their partial updates, if they were.
    pub asked: Option<Timestamp>,
    /// The newest version, from which a client would start.
    pub version: u64,
    /// True if the population is at least as large as [`super::SchedulingPolicy::crowd`].
    pub is_crowd: bool,
    /// The counts of the round's assignments. In a flow, `outstanding` includes those of earlier rounds.
    pub counts: ReportCounts,
    /// The outstanding assignments of all rounds of the task. Empty for cohort policies.
    pub outstanding: &'a [Outstanding],
    /// The clients that take part, with their clocks. Empty unless the policy needs them.
    pub members: &'a [Member],
    /// The L2 norms of the last version changes, newest first. Older changes are not kept.
    pub changes: &'a [f64],
}

impl Facts<'_> {
    /// Returns the milliseconds that the round has been in its phase.
    pub fn elapsed(&self) -> u64 {
        self.now.milliseconds_since(self.since)
    }

    /// Returns the number of versions that are newer than `base_version`.
    pub fn staleness(&self, base_version: u64) -> u64 {
        self.version.saturating_sub(base_version)
    }

    /// Returns an upper bound on the distance, in L2, that the model has moved since `base_version`: the sum of the
    /// steps in between (triangle inequality). It is infinite if some of these steps are no longer known.
    pub fn change_since(&self, base_version: u64) -> f64 {
        let steps = to_length(self.staleness(base_version));
        self.changes.get(..steps).map_or(f64::INFINITY, |changes| changes.iter().sum())
    }
}
