use serde::{Deserialize, Serialize};

use crate::{Disposition, ErrorCode};

/// A refusal on the wire: a problem document (RFC 9457) with a stable code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Where the code is explained.
    #[serde(rename = "type")]
    pub kind: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: ErrorCode,
    /// What a client is to do.
    pub disposition: Disposition,
    /// What is wrong, where, and what to do, for humans.
    pub detail: String,
    /// When to ask again, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_milliseconds: Option<u64>,
    /// The coordinator's clock, so that a client whose own is wrong can still sign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_time: Option<crate::Timestamp>,
    /// For an upload: how many bytes the coordinator has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
}

impl Problem {
    /// Makes the document of a code.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("https://folkmoot.dev/errors#{}", code.as_str()),
            status: code.http_status(),
            code,
            disposition: code.disposition(),
            detail: detail.into(),
            retry_after_milliseconds: None,
            server_time: None,
            received_bytes: None,
        }
    }
}
