//! The coordinator's process.

use std::collections::BTreeMap;

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How the process is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SystemView {
    /// The coordinator's version.
    pub version: String,
    /// When this process started.
    pub started_at: Timestamp,
    /// `sqlite` or `postgresql`.
    pub database: String,
    /// Says that it can do its work.
    pub is_ready: bool,
    /// What keeps it from that, in sentences.
    pub problems: Vec<String>,
    /// The memory that the process has, in bytes, where the system says so.
    pub memory_bytes: Option<u64>,
    /// Who drives which task, and until when.
    pub leases: Vec<LeaseView>,
    /// What this process logged last, newest first; at most 500 lines.
    pub log: Vec<LogLineView>,
}

/// A claim on a task, that only its holder drives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    /// What is claimed.
    pub name: String,
    /// Which process holds it.
    pub holder: String,
    /// Until when, unless it is renewed.
    pub held_until: Timestamp,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLineView {
    /// When.
    pub at: Timestamp,
    /// `ERROR`, `WARN`, `INFO`, `DEBUG` or `TRACE`.
    pub level: String,
    /// Which part of the program.
    pub target: String,
    /// What it says.
    pub message: String,
    /// Of what, by name.
    pub fields: BTreeMap<String, String>,
}
