use serde::{Deserialize, Serialize};

use crate::Count;

/// `POST /v1/assignments/{id}/report`: the duration and size of the work, sent after the upload was accepted.
///
/// Reports are only for statistics. The round does not wait for them, and a lost report does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportRequest {
    /// Milliseconds spent training.
    #[serde(deserialize_with = "Count::read")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9007199254740992_u64))]
    pub training_milliseconds: u64,
    /// Bytes downloaded for this assignment. Cached blobs do not count.
    #[serde(deserialize_with = "Count::read")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9007199254740992_u64))]
    pub download_bytes: u64,
    /// Bytes of the update that arrived, including those sent again.
    #[serde(deserialize_with = "Count::read")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9007199254740992_u64))]
    pub upload_bytes: u64,
}
