use serde::{Deserialize, Serialize};

/// `POST /v1/assignments/{id}/report`: how the work went, after the upload was accepted.
///
/// It is for statistics only: the round does not wait for it, and losing it loses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportRequest {
    /// Milliseconds spent training.
    pub training_milliseconds: u64,
    /// Bytes fetched for this assignment; what was cached does not count.
    pub download_bytes: u64,
    /// Bytes that arrived for this assignment, with what had to arrive again.
    pub upload_bytes: u64,
}
