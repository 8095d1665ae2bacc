//! Operators' own examples, on which versions are evaluated.

use folkmoot_protocol::BlobDigest;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Examples that were read, checked and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvaluationDataView {
    /// The file's digest, by which a task names it.
    pub evaluation_data: BlobDigest,
    /// How many examples there are.
    pub example_count: u64,
}
