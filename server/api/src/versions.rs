//! Model versions.

use folkmoot_protocol::{BlobDigest, RoundId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A committed state of a task's model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VersionView {
    /// The version's number. Version 0 holds the weights that the task started from.
    pub number: u64,
    /// The round that committed the version; null for version 0 and for rollbacks.
    pub round_id: Option<RoundId>,
    /// The digest of the weights.
    pub weights: BlobDigest,
    /// The size of the weights in bytes.
    pub weights_bytes: u64,
    /// The number of examples that the round's clients used in total. Null if a private task runs or has run in the
    /// population.
    pub example_count: Option<u64>,
    /// The mean training loss over the examples that the round's clients used. Null for version 0 and for a task with
    /// `privacy`.
    pub mean_loss: Option<f64>,
    /// The share of the examples that the round's clients classified correctly while they trained, 0 to 1. Null for
    /// version 0 and for a task with `privacy`.
    pub accuracy: Option<f64>,
    /// The L2 distance from the previous version.
    pub change_norm: f64,
    /// The mean staleness of the version's updates, in versions.
    pub mean_staleness: f64,
    /// The maximum staleness of the version's updates, in versions.
    pub staleness_max: u64,
    /// For a rollback, the number of the version whose weights were restored.
    pub rolled_back_to: Option<u64>,
    /// When the version was committed.
    pub created_at: Timestamp,
    /// When the weights were dropped, because newer versions took their place (`storage.keep_versions`). Such a version cannot
    /// be downloaded any more. Null while they are kept.
    pub dropped_at: Option<Timestamp>,
}

/// The response header that carries the version number of a downloaded model.
pub const VERSION_HEADER: &str = "folkmoot-model-version";
