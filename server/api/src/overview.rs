//! A summary of the coordinator's activity for one organisation.

use std::collections::BTreeMap;

use folkmoot_protocol::{PopulationName, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of the coordinator, and its activity in the last 24 hours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OverviewView {
    /// The coordinator's version.
    pub version: String,
    /// When this process started.
    pub started_at: Timestamp,
    /// True if the coordinator is ready to serve requests.
    pub is_ready: bool,
    /// The reasons why the coordinator is not ready, one sentence each. Empty if it is ready.
    pub problems: Vec<String>,
    /// The number of tasks in each state.
    pub tasks: BTreeMap<String, u64>,
    /// The populations, ordered by name.
    pub populations: Vec<PopulationOverview>,
    /// The activity in each of the last 24 hours, oldest first. The last element is the current hour.
    pub hours: Vec<HourView>,
}

/// The clients of one population.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PopulationOverview {
    /// The name of the population.
    pub name: PopulationName,
    /// The number of enrolled clients, without revoked ones.
    pub enrolled: u64,
    /// The number of clients that are waiting for a round. Null while a task of the population claims privacy
    /// amplification by sampling.
    pub waiting: Option<u64>,
    /// The number of clients with an open assignment. Null whenever `waiting` is null.
    pub training: Option<u64>,
    /// The number of active tasks of the population.
    pub active_tasks: u64,
}

/// The activity in one hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HourView {
    /// The start of the hour.
    pub since: Timestamp,
    /// The number of rounds that committed a version.
    pub committed: u64,
    /// The number of rounds that were opened in this hour and later abandoned.
    pub abandoned: u64,
    /// The number of accepted updates. Null if a task of the organisation claims, or has claimed, privacy
    /// amplification by sampling.
    pub updates: Option<u64>,
    /// The number of bytes in the accepted updates of tasks without `privacy`. Null whenever `updates` is null.
    pub upload_bytes: Option<u64>,
}
