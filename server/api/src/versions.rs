//! Model versions.

use folkmoot_protocol::{BlobDigest, RoundId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A committed state of a task's model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VersionView {
    /// Its number: 0 is what the task began with.
    pub number: u64,
    /// The round that made it; none for version 0.
    pub round_id: Option<RoundId>,
    /// The digest of its weights.
    pub weights: BlobDigest,
    /// The bytes of its weights.
    pub weights_bytes: u64,
    /// How many examples its round's clients used, all together. Null where a task with privacy runs or has run.
    pub example_count: Option<u64>,
    /// Their mean training loss; none for version 0, and of a task with `privacy`.
    pub mean_loss: Option<f64>,
    /// The share of them that was predicted right; none for version 0, and of a task with `privacy`.
    pub accuracy: Option<f64>,
    /// How far it lies from the version before, in L2.
    pub change_norm: f64,
    /// How many versions old its updates were, in the mean.
    pub mean_staleness: f64,
    /// How many versions old its oldest update was.
    pub staleness_max: u64,
    /// The version whose weights these are, where it is a return to that one.
    pub rolled_back_to: Option<u64>,
    /// When it was released.
    pub created_at: Timestamp,
}

/// The header of a downloaded model that says which version it is.
pub const VERSION_HEADER: &str = "folkmoot-model-version";
