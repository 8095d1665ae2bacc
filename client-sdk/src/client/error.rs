use folkmoot_protocol::ErrorCode;
use folkmoot_session::InvalidTransitionError;

use crate::{StorageError, TransportError};

/// Why a client cannot be built or cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A setting is missing or exceeds its limit.
    #[error("{0}")]
    Builder(String),
    /// The client is not enrolled and has no token.
    #[error("the client is not enrolled; give it an enrolment token")]
    NoEnrolmentToken,
    /// The coordinator refused the enrolment, or the connection cannot be set up.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The coordinator refused a request with the advice to give up.
    #[error("the coordinator refuses this client ({}): {detail}", code_text(.code))]
    Refused {
        /// The error code; `None` if this version does not know it.
        code: Option<ErrorCode>,
        /// Details for people to read.
        detail: String,
    },
    /// A model that is rolled out to this device cannot be used. Predictions keep the model before.
    #[error("the model of rollout {rollout} cannot be used on this device: {reason}")]
    Model {
        /// The number of the rollout.
        rollout: u64,
        /// Details for people to read.
        reason: String,
    },
    /// The state directory cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The operating system provided no random bytes.
    #[error("the operating system provided no random bytes: {0}")]
    Randomness(#[source] std::io::Error),
    /// A bug in the client.
    #[error("this is a bug in the client, please report it: {0}")]
    Session(#[from] InvalidTransitionError),
}

impl ClientError {
    pub(super) fn refused(code: Option<ErrorCode>, detail: String) -> Self {
        Self::Refused { code, detail }
    }
}

fn code_text(code: &Option<ErrorCode>) -> &'static str {
    code.map_or("an unknown code", ErrorCode::as_str)
}
