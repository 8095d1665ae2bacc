use folkmoot_protocol::ErrorCode;
use folkmoot_session::InvalidTransitionError;

use crate::{StorageError, TransportError};

/// Why a client cannot be made, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A part of the description is missing or passes a limit.
    #[error("{0}")]
    Builder(String),
    /// The client is not enrolled and has no token.
    #[error("the client is not enrolled: give it an enrolment token")]
    NoEnrolmentToken,
    /// The coordinator refused the enrolment, or the connection cannot be made.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The coordinator said to give up.
    #[error("the coordinator refuses this client ({}): {detail}", code_text(.code))]
    Refused {
        /// Why; none if this version does not know the code.
        code: Option<ErrorCode>,
        /// More for humans.
        detail: String,
    },
    /// The state directory cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The operating system gave no randomness.
    #[error("the operating system has no randomness: {0}")]
    Randomness(#[source] std::io::Error),
    /// The client has a mistake.
    #[error("this is a mistake in the client, please report it: {0}")]
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
