use serde::{Deserialize, Serialize};

/// The answer to `PUT` and `GET /v1/assignments/{id}/update`: how much of an update has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UploadStatus {
    /// The bytes that the coordinator has; go on from here.
    pub received_bytes: u64,
    /// What has become of it.
    pub state: UploadState,
}

/// What has become of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum UploadState {
    /// Something is missing yet.
    Partial,
    /// The update is durable and counts, once.
    Accepted,
}
