//! Traffic of rounds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The traffic of one round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoundStatsView {
    /// The round's number.
    pub number: u64,
    /// `training` or `evaluation`.
    pub purpose: String,
    /// The round's phase.
    pub phase: String,
    /// The traffic of all accepted updates of the round. Null for a task with `privacy`.
    pub all: Option<TrafficView>,
    /// The same traffic by codec and network. Empty for a task with `privacy`.
    pub classes: Vec<ClassTrafficView>,
}

/// The traffic of updates with one codec over one kind of network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClassTrafficView {
    /// The codec of most values in the update, written as in a task description, or `float32`.
    pub codec: String,
    /// The network that clients reported in the attribute `network`: `ethernet`, `wifi`, `5g`, `4g`, `3g`, `2g`,
    /// `cellular`, `metered` or `other`. It is `unknown` for clients that did not report one.
    pub network: String,
    /// The traffic of the updates in this class.
    pub traffic: TrafficView,
}

/// The uploads and downloads of a set of updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrafficView {
    /// The number of updates.
    pub updates: u64,
    /// The total size of the uploaded updates in bytes.
    pub upload_bytes: u64,
    /// The total size in bytes that the updates would have without compression, as float32.
    pub float32_bytes: u64,
    /// The number of clients that reported their downloads.
    pub reports: u64,
    /// The total number of downloaded bytes that clients reported, without cache hits.
    pub download_bytes: u64,
}

impl TrafficView {
    /// Returns the ratio of uploaded bytes to uncompressed bytes; `None` without updates.
    pub fn ratio(&self) -> Option<f64> {
        (self.float32_bytes > 0).then(|| self.upload_bytes as f64 / self.float32_bytes as f64)
    }
}
