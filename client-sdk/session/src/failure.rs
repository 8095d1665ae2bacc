use folkmoot_protocol::{Disposition, ErrorCode, Problem};
use serde::{Deserialize, Serialize};

/// Why a request brought no answer, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The coordinator's code; `None` if this build does not know it, the network failed, or what came was no answer of a
    /// coordinator.
    pub code: Option<ErrorCode>,
    /// What to do.
    pub disposition: Disposition,
    /// How long the coordinator wants to be left alone.
    pub retry_after_milliseconds: Option<u64>,
    /// For an upload: the bytes that the coordinator has.
    pub received_bytes: Option<u64>,
    /// For a blob: the bytes that came before it failed, and stay. With some, the network works: the rest is asked for soon.
    pub transferred_bytes: u64,
}

impl Failure {
    /// Makes the failure of a network: no code, send again.
    pub fn network() -> Self {
        Self {
            code: None,
            disposition: Disposition::Retry,
            retry_after_milliseconds: None,
            received_bytes: None,
            transferred_bytes: 0,
        }
    }

    /// Makes the failure that a code means by itself.
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
