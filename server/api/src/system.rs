//! The coordinator's process.

use std::collections::BTreeMap;

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of the coordinator's process, with its recent log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SystemView {
    /// The coordinator's version.
    pub version: String,
    /// When this process started.
    pub started_at: Timestamp,
    /// `sqlite` or `postgresql`.
    pub database: String,
    /// True if the coordinator is ready to serve requests.
    pub is_ready: bool,
    /// The reasons why the coordinator is not ready, one sentence each. Empty if it is ready.
    pub problems: Vec<String>,
    /// The resident memory of the process in bytes. Null if the operating system does not report it.
    pub memory_bytes: Option<u64>,
    /// The channels that get notices of the organisation's tasks.
    #[serde(default)]
    #[schema(required)]
    pub notifications: Vec<ChannelView>,
    /// The unexpired leases on tasks. Empty if several organisations share the coordinator, like the log.
    pub leases: Vec<LeaseView>,
    /// The last lines of this process's log, newest first, at most 500.
    pub log: Vec<LogLineView>,
    /// Why there are neither leases nor log lines; null if they are shown.
    pub withheld: Option<String>,
}

/// A channel for notices, with its deliveries since this process started. Of several processes, one at a time delivers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelView {
    /// The name of the channel.
    pub name: String,
    /// `webhook` or `email`.
    pub kind: String,
    /// The time of the latest delivery. Null if there was none.
    pub delivered_at: Option<Timestamp>,
    /// The error of the latest attempt. Null if it succeeded.
    pub error: Option<String>,
    /// The number of notices that wait for another attempt.
    pub waiting: u64,
}

/// A lease on a task. Only the holder of the lease advances the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    /// The name of the lease, for example `task/` followed by the task's id.
    pub name: String,
    /// The process that holds the lease.
    pub holder: String,
    /// When the lease expires unless it is renewed.
    pub held_until: Timestamp,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLineView {
    /// When the line was logged.
    pub at: Timestamp,
    /// `ERROR`, `WARN`, `INFO`, `DEBUG` or `TRACE`.
    pub level: String,
    /// The module that logged it.
    pub target: String,
    /// The message.
    pub message: String,
    /// The structured fields by name.
    pub fields: BTreeMap<String, String>,
}
