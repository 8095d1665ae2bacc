//! What happened, counted for people to look at. A database answers this; nothing in a round asks for it.

use folkmoot_protocol::{TaskId, Timestamp, messages::ReportRequest};

use crate::AssignmentStatus;

/// What happened in one hour of an organisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HourRecord {
    /// When the hour began.
    pub since: Timestamp,
    /// Versions that rounds made.
    pub committed: u64,
    /// Rounds that were opened in it and came to nothing.
    pub abandoned: u64,
    /// Updates that were accepted.
    pub updates: u64,
    /// The bytes of those whose tasks promise no privacy.
    pub upload_bytes: u64,
}

/// Where a task stands, as one line that changes whenever that does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulseRecord {
    /// The task.
    pub task_id: TaskId,
    /// Revisions; only whether it is the same as before says something.
    pub pulse: String,
    /// What the assignments of an open round have come to; likewise.
    pub counts: String,
}

/// A time-bound claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// What is claimed.
    pub name: String,
    /// Which process holds it.
    pub holder: String,
    /// Until when, unless it is renewed.
    pub held_until: Timestamp,
}

/// One assignment of a round on the clock.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneRecord {
    /// When it was given.
    pub created_at: Timestamp,
    /// Until when its update may come.
    pub deadline: Timestamp,
    /// When its update was accepted, or it was dropped.
    pub closed_at: Option<Timestamp>,
    /// What has become of it.
    pub status: AssignmentStatus,
    /// What the client said of the work.
    pub report: Option<ReportRequest>,
}

/// What the updates of one version came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionTraffic {
    /// The version.
    pub version: u64,
    /// The number of its round; none if no round made it.
    pub round_number: Option<u64>,
    /// How many updates.
    pub updates: u64,
    /// Their bytes.
    pub upload_bytes: u64,
}

/// How long a client trained on how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkRecord {
    /// Examples that its update counts.
    pub example_count: u64,
    /// How long it says that it trained.
    pub training_milliseconds: u64,
}
