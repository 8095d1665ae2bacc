use serde::{Deserialize, Serialize};

/// The answer to `GET /v1/assignments/{id}/ask?wait_seconds=…`: whether a client at work is to send what it has now.
///
/// The request waits for that for as long as the query says (at most [`crate::limits::LONG_POLL_SECONDS_MAX`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AskResponse {
    /// Whether the round waits for this client's update: it is to end its training after the step under way. If not, the
    /// client goes on and asks again.
    pub asked: bool,
}
