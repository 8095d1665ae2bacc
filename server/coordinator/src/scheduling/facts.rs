use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Member, Outstanding};

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

/// All that a policy may know, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Now.
    pub now: Timestamp,
    /// Since when the round is in its phase.
    pub since: Timestamp,
    /// When the clients at work were asked for what they have, if they were.
    pub asked: Option<Timestamp>,
    /// The newest version: from it a client would start.
    pub version: u64,
    /// Says whether the population is as large as the policy calls a crowd ([`super::SchedulingPolicy::crowd`]).
    pub is_crowd: bool,
    /// What the round's assignments have come to. In a flow, `outstanding` counts those of earlier rounds, too.
    pub counts: ReportCounts,
    /// Assignments under way, of any round of the task; empty for cohort policies.
    pub outstanding: &'a [Outstanding],
    /// The clients that take part, with their clocks; empty unless the policy asks for them.
    pub members: &'a [Member],
    /// How far the last versions moved the model, in L2: the newest first. Versions before are forgotten.
    pub changes: &'a [f64],
}

impl Facts<'_> {
    /// Returns the milliseconds for which the round is in its phase.
    pub fn elapsed(&self) -> u64 {
        self.now.milliseconds_since(self.since)
    }

    /// Returns how many versions are newer than `base_version`.
    pub fn staleness(&self, base_version: u64) -> u64 {
        self.version.saturating_sub(base_version)
    }

    /// Returns a bound on how far the model has moved since `base_version`, in L2: the sum of the steps between
    /// (triangle inequality). Versions that are forgotten count as infinitely far away.
    pub fn change_since(&self, base_version: u64) -> f64 {
        let steps = self.staleness(base_version) as usize;
        self.changes.get(..steps).map_or(f64::INFINITY, |changes| changes.iter().sum())
    }
}
