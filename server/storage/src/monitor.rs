//! Statistics for people. Only databases provide them, and rounds do not depend on them.

use folkmoot_protocol::{TaskId, Timestamp, messages::ReportRequest};

use crate::AssignmentStatus;

/// The number of events in one hour of an organisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HourRecord {
    /// When the hour began.
    pub since: Timestamp,
    /// The number of versions that rounds committed in this hour.
    pub committed: u64,
    /// The number of rounds that were opened in this hour and later abandoned.
    pub abandoned: u64,
    /// The number of updates that were accepted in this hour.
    pub updates: u64,
    /// The number of bytes in accepted updates of tasks without privacy.
    pub upload_bytes: u64,
}

/// Short texts that change whenever a task changes. A reader compares them to detect changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulseRecord {
    /// The task.
    pub task_id: TaskId,
    /// A text that contains the revisions of the task and its open round. Compare it only for equality.
    pub pulse: String,
    /// A text that contains the counts of the open round's assignments. Compare it only for equality.
    pub counts: String,
}

/// A lease: a time-limited claim on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The name of the lease.
    pub name: String,
    /// The process that holds the lease.
    pub holder: String,
    /// When the lease expires, unless it is renewed.
    pub held_until: Timestamp,
}

/// The timeline of one assignment of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneRecord {
    /// When the assignment was created.
    pub created_at: Timestamp,
    /// The deadline for the update.
    pub deadline: Timestamp,
    /// When the update was accepted or the assignment was dropped.
    pub closed_at: Option<Timestamp>,
    /// The current status.
    pub status: AssignmentStatus,
    /// The client's report about the work.
    pub report: Option<ReportRequest>,
}

/// The number and size of one version's updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionTraffic {
    /// The version.
    pub version: u64,
    /// The number of the round that committed the version; `None` if no round committed it.
    pub round_number: Option<u64>,
    /// The number of updates.
    pub updates: u64,
    /// The total size of the updates in bytes.
    pub upload_bytes: u64,
}

/// The amount and duration of a client's work for one update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkRecord {
    /// The number of examples that the update reports.
    pub example_count: u64,
    /// The training time that the client reported, in milliseconds.
    pub training_milliseconds: u64,
}
