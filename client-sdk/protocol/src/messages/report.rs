use serde::{Deserialize, Serialize};

use crate::Count;

/// `POST /v1/assignments/{id}/report`: how the work went, after the upload was accepted.
///
/// It is for statistics only: the round does not wait for it, and losing it loses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportRequest {
    /// Milliseconds spent training.
    #[serde(deserialize_with = "Count::read")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9007199254740992_u64))]
    pub training_milliseconds: u64,
    /// Bytes fetched for this assignment; what was cached does not count.
    #[serde(deserialize_with = "Count::read")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9007199254740992_u64))]
    pub download_bytes: u64,
    /// Bytes that arrived for this assignment, with what had to arrive again.
    #[serde(deserialize_with = "Count::read")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9007199254740992_u64))]
    pub upload_bytes: u64,
}
