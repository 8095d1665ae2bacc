use folkmoot_protocol::{Disposition, ErrorCode, Problem};
use serde::{Deserialize, Serialize};

/// Why a request failed, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The coordinator's code. `None` if this build does not know it, the network failed, or the response did not come
    /// from a coordinator.
    pub code: Option<ErrorCode>,
    /// The action that the client should take.
    pub disposition: Disposition,
    /// The minimum wait that the coordinator requests.
    pub retry_after_milliseconds: Option<u64>,
    /// For an upload: the number of bytes that the coordinator has.
    pub received_bytes: Option<u64>,
    /// For a blob: bytes that were received before the failure and are kept. If there are any, the network works, and
    /// the rest is requested soon.
    pub transferred_bytes: u64,
}

impl Failure {
    /// Creates a network failure: no code, retry.
    pub fn network() -> Self {
        Self {
            code: None,
            disposition: Disposition::Retry,
            retry_after_milliseconds: None,
            received_bytes: None,
            transferred_bytes: 0,
        }
    }

    /// Creates the failure for a code, with the code's disposition.
    pub fn refused(code: ErrorCode) -> Self {
        Self { code: Some(code), disposition: code.disposition(), ..Self::network() }
    }
}

impl From<&Problem> for Failure {
    fn from(problem: &Problem) -> Self {
        Self {
            code: problem.code.known(),
            disposition: problem.disposition,
            retry_after_milliseconds: problem.retry_after_milliseconds,
            received_bytes: problem.received_bytes,
            transferred_bytes: 0,
        }
    }
}
