//! What an organisation's coordinator is doing, at a glance.

use std::collections::BTreeMap;

use folkmoot_protocol::{PopulationName, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is going on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OverviewView {
    /// The coordinator's version.
    pub version: String,
    /// When this process started.
    pub started_at: Timestamp,
    /// Says that it can do its work.
    pub is_ready: bool,
    /// What keeps it from that, in sentences.
    pub problems: Vec<String>,
    /// How many tasks there are in each state.
    pub tasks: BTreeMap<String, u64>,
    /// The populations, by name.
    pub populations: Vec<PopulationOverview>,
    /// The last 24 hours, oldest first; the last of them is under way.
    pub hours: Vec<HourView>,
}

/// Who is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PopulationOverview {
    /// The population.
    pub name: PopulationName,
    /// How many clients are enrolled; revoked ones do not count.
    pub enrolled: u64,
    /// How many of them wait for a round just now; hidden while a task's `privacy` claims sampling.
    pub waiting: Option<u64>,
    /// How many have an assignment under way; hidden likewise.
    pub training: Option<u64>,
    /// How many active tasks they have.
    pub active_tasks: u64,
}

/// What happened in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HourView {
    /// When it began.
    pub since: Timestamp,
    /// Rounds that made a version.
    pub committed: u64,
    /// Rounds that were opened in it and came to nothing.
    pub abandoned: u64,
    /// Updates that were accepted; hidden where the `privacy` of a task claims or has claimed sampling.
    pub updates: Option<u64>,
    /// The bytes of those whose tasks promise no privacy; hidden likewise.
    pub upload_bytes: Option<u64>,
}
