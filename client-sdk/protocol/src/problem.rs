use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Disposition, ErrorCode};

/// The maximum number of bytes that are kept of an unknown code.
const UNKNOWN_CODE_BYTES_MAX: usize = 64;

/// A refusal: a problem document (RFC 9457) with a stable code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The URL of the code's documentation.
    #[serde(rename = "type")]
    pub kind: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    #[cfg_attr(feature = "openapi", schema(value_type = ErrorCode))]
    pub code: ProblemCode,
    /// The action that the client should take.
    pub disposition: Disposition,
    /// The problem, its place and its remedy, for people to read.
    pub detail: String,
    /// Milliseconds to wait before the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_milliseconds: Option<u64>,
    /// The coordinator's time, so that a client with a wrong clock can sign correctly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_time: Option<crate::Timestamp>,
    /// For an upload: the number of bytes that the coordinator has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
    /// The id of the request, by which the coordinator's operator finds it in the log. A page does not show it, and reading it
    /// would make the browser's module larger.
    #[cfg(not(target_family = "wasm"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Problem {
    /// Creates the document of a code.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("https://folkmoot.dev/errors#{}", code.as_str()),
            status: code.http_status(),
            code: code.into(),
            disposition: code.disposition(),
            detail: detail.into(),
            retry_after_milliseconds: None,
            server_time: None,
            received_bytes: None,
            #[cfg(not(target_family = "wasm"))]
            request_id: None,
        }
    }
}

#[cfg(not(target_family = "wasm"))]
/// The code and the detail. If the coordinator is at fault (status 500 or higher), also the id of the request.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)?;
        match &self.request_id {
            Some(id) if self.status >= 500 => write!(f, " (request {id})"),
            _ => Ok(()),
        }
    }
}

/// The code of a problem. A code that only a newer coordinator knows is still a refusal, with its disposition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemCode {
    /// A code of this build.
    Known(ErrorCode),
    /// The text of an unknown code.
    Unknown(String),
}

impl ProblemCode {
    /// Returns the code, if this build knows it.
    pub fn known(&self) -> Option<ErrorCode> {
        match self {
            Self::Known(code) => Some(*code),
            Self::Unknown(_) => None,
        }
    }

    /// Returns the code's text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(code) => code.as_str(),
            Self::Unknown(text) => text,
        }
    }
}

impl From<ErrorCode> for ProblemCode {
    fn from(code: ErrorCode) -> Self {
        Self::Known(code)
    }
}

impl PartialEq<ErrorCode> for ProblemCode {
    fn eq(&self, code: &ErrorCode) -> bool {
        self.known() == Some(*code)
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ProblemCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ProblemCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = String::deserialize(deserializer)?;
        if let Ok(code) = text.parse() {
            return Ok(Self::Known(code));
        }
        text.truncate(text.floor_char_boundary(UNKNOWN_CODE_BYTES_MAX));
        Ok(Self::Unknown(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fault_of_the_coordinator_shows_the_id_of_its_request() {
        let text = |code| Problem { request_id: Some("4f1c".into()), ..Problem::new(code, "no") }.to_string();
        assert_eq!(text(ErrorCode::Internal), "internal: no (request 4f1c)");
        assert_eq!(text(ErrorCode::TaskUnknown), "task_unknown: no");
        assert_eq!(Problem::new(ErrorCode::Internal, "no").to_string(), "internal: no");
    }

    #[test]
    fn a_code_of_tomorrow_is_read_with_its_disposition() {
        let mut json = serde_json::to_value(Problem::new(ErrorCode::ClientRevoked, "no more")).unwrap();
        let known: Problem = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(known.code, ErrorCode::ClientRevoked);
        json["code"] = "client_too_loud".into();
        let unknown: Problem = serde_json::from_value(json.clone()).unwrap();
        assert_eq!((unknown.code.known(), unknown.code.as_str()), (None, "client_too_loud"));
        assert_eq!(unknown.disposition, Disposition::GiveUp);
        assert_eq!(serde_json::to_value(&unknown).unwrap(), json);
        json["code"] = "\u{e9}".repeat(1000).into();
        let long: Problem = serde_json::from_value(json).unwrap();
        assert_eq!(long.code.as_str(), "\u{e9}".repeat(32));
    }
}
