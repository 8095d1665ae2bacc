use serde::{Deserialize, Serialize};

/// The answer to `GET /v1/assignments/{id}/ask?wait_seconds=…`: whether a training client should send a partial update
/// now.
///
/// The coordinator holds the request for `wait_seconds`, at most [`crate::limits::LONG_POLL_SECONDS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AskResponse {
    /// If true, the client ends its training after the current step and sends its update. If false, it continues and
    /// polls again.
    pub asked: bool,
}
