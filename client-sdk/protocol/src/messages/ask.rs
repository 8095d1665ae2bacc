use serde::{Deserialize, Serialize};

/// The answer to `GET /v1/assignments/{id}/ask?wait_seconds=…`: whether a training client is to send a partial update now.
///
/// The coordinator holds the request for `wait_seconds`, at most [`crate::limits::LONG_POLL_SECONDS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AskResponse {
    /// Says whether the client is to end its training after the current step and send its update. If not, it goes on training
    /// and polls again.
    pub asked: bool,
}
