//! The operator's own examples, for central evaluation.

use folkmoot_protocol::BlobDigest;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An uploaded file of examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvaluationDataView {
    /// The digest of the file. Tasks refer to the file by this digest.
    pub evaluation_data: BlobDigest,
    /// The number of examples.
    pub example_count: u64,
}
