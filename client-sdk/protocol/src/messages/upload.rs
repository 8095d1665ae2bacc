use serde::{Deserialize, Serialize};

/// The answer to `PUT` and `GET /v1/assignments/{id}/update`: how much of an update has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UploadStatus {
    /// The number of bytes that the coordinator has. The client continues from there.
    pub received_bytes: u64,
    /// The state of the upload.
    pub state: UploadState,
}

/// The state of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum UploadState {
    /// Some bytes are still missing.
    Partial,
    /// The update is stored durably and is counted once.
    Accepted,
}
