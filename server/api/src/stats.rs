//! The bytes of updates.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the updates of a round cost in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoundStatsView {
    /// The round's number.
    pub number: u64,
    /// `training` or `evaluation`.
    pub purpose: String,
    /// The phase in which the round is.
    pub phase: String,
    /// All updates that count in it; absent for a task with `privacy`.
    pub all: Option<TrafficView>,
    /// The same by codec and kind of network; nothing for a task with `privacy`.
    pub classes: Vec<ClassTrafficView>,
}

/// Updates that travelled alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClassTrafficView {
    /// The codec of most values, as tasks name it, or `float32`.
    pub codec: String,
    /// Over what kind of network the clients said that they are, by the attribute `network`: `ethernet`, `wifi`, `5g`, `4g`,
    /// `3g`, `2g`, `cellular`, `metered`, `other`, or `unknown` where they did not say.
    pub network: String,
    /// Their bytes.
    pub traffic: TrafficView,
}

/// The bytes of some updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrafficView {
    /// How many updates.
    pub updates: u64,
    /// The bytes in which they came.
    pub upload_bytes: u64,
    /// The bytes that they would have been as float32.
    pub float32_bytes: u64,
    /// How many of their clients have reported what they fetched.
    pub reports: u64,
    /// What these say that they fetched: what was cached does not count.
    pub download_bytes: u64,
}

impl TrafficView {
    /// Returns the share of float32's bytes in which the updates came.
    pub fn ratio(&self) -> Option<f64> {
        (self.float32_bytes > 0).then(|| self.upload_bytes as f64 / self.float32_bytes as f64)
    }
}
