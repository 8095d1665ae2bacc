//! Statistics for people, and the activity of named sites. Only databases provide them, and rounds do not depend on them.

use std::collections::BTreeMap;

use folkmoot_protocol::{TaskId, Timestamp, messages::ReportRequest};

use crate::{AssignmentStatus, ClientRecord, DropReason, TaskRecord};

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

/// The maximum number of sites in a population that are not revoked.
pub const SITES_MAX: u64 = 10_000;

/// A site's client and its latest activity.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteRecord {
    /// The client.
    pub client: ClientRecord,
    /// When the coordinator last accepted a request from the site.
    pub seen_at: Timestamp,
    /// The version of the SDK in the latest check-in. `None` before the first one.
    pub sdk_version: Option<String>,
    /// The attributes of the app's choice in the latest check-in.
    pub attributes: BTreeMap<String, String>,
    /// The number of assignments that ended without an update from the site.
    pub failures: u64,
    /// The latest failure.
    pub last_failure: Option<SiteFailure>,
}

/// An assignment of a site that ended without an update.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteFailure {
    /// When the assignment ended.
    pub at: Timestamp,
    /// The reason.
    pub reason: DropReason,
}

/// The part of a check-in that is stored for a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteSoftware<'a> {
    /// The version of the SDK.
    pub sdk_version: &'a str,
    /// The attributes of the app's choice.
    pub attributes: &'a BTreeMap<String, String>,
}

/// The result of an attempt to change the kind of a population's clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindOutcome {
    /// The population now has clients of this kind.
    Set,
    /// Clients have enrolled, so the kind stays.
    ClientsEnrolled,
}

/// An active task, with the notices that were delivered about it.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedTask {
    /// The task.
    pub task: TaskRecord,
    /// The latest standstill about which a notice was delivered. `None` if there was none.
    pub told_stall: Option<u64>,
    /// True if a notice was delivered that the task's privacy budget is nearly spent.
    pub told_budget: bool,
}
