use folkmoot_client::{
    ClientError, StorageError, TransportError,
    engine::{EvaluateError, ExamplesError},
    protocol::ErrorCode,
};

/// Why something failed. The names do not change; the details are for humans.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
pub enum FolkmootError {
    /// An option makes no sense or passes a limit.
    #[error("{detail}")]
    BadOption {
        /// Which, and what is expected.
        detail: String,
    },
    /// Examples do not have the shape or the values that they must have.
    #[error("{detail}")]
    BadExample {
        /// Which, and why.
        detail: String,
    },
    /// There is nothing to train on.
    #[error("there are no examples: add some, or give a trainer that has its own")]
    NoExamples,
    /// The client is not enrolled, and has no token.
    #[error("{detail}")]
    NotEnrolled {
        /// What to do.
        detail: String,
    },
    /// The coordinator refuses this client.
    #[error("{detail}")]
    Refused {
        /// Why; none if it gave no reason that this version knows.
        code: Option<ErrorCode>,
        /// More for humans.
        detail: String,
    },
    /// No coordinator answers there.
    #[error("{detail}")]
    Unreachable {
        /// What happened.
        detail: String,
    },
    /// The state directory cannot be used.
    #[error("{detail}")]
    StorageFailed {
        /// Which file, and why.
        detail: String,
    },
    /// No assignment has brought a model yet.
    #[error("there is no model yet: it comes with the first assignment")]
    NoModel,
    /// It runs already.
    #[error("this client runs already: stop it first")]
    AlreadyRunning,
    /// The client was forgotten or closed.
    #[error("this client was forgotten or closed: connect again")]
    Forgotten,
    /// The library has a mistake.
    #[error("this is a mistake in the client, please report it: {detail}")]
    Internal {
        /// What happened.
        detail: String,
    },
}

impl FolkmootError {
    pub(crate) fn bad_option(detail: impl ToString) -> Self {
        Self::BadOption { detail: detail.to_string() }
    }
}

impl From<ClientError> for FolkmootError {
    fn from(error: ClientError) -> Self {
        let detail = error.to_string();
        match error {
            ClientError::Builder(_) => Self::BadOption { detail },
            ClientError::NoEnrolmentToken => Self::NotEnrolled { detail },
            ClientError::Transport(error) => error.into(),
            ClientError::Refused { code, .. } => Self::Refused { code, detail },
            ClientError::Storage(error) => error.into(),
            ClientError::Randomness(_) | ClientError::Session(_) => Self::Internal { detail },
        }
    }
}

impl From<TransportError> for FolkmootError {
    fn from(error: TransportError) -> Self {
        let detail = error.to_string();
        match error {
            TransportError::Address(_) | TransportError::Certificate(_) | TransportError::NoCertificate => {
                Self::BadOption { detail }
            }
            TransportError::NotEnrolled => Self::NotEnrolled { detail },
            TransportError::Refused(problem) => Self::Refused { code: problem.code.known(), detail },
            TransportError::Local(_) => Self::StorageFailed { detail },
            TransportError::Network(_)
            | TransportError::NotUnderstood { .. }
            | TransportError::Damaged(_)
            | TransportError::Silence(_) => Self::Unreachable { detail },
        }
    }
}

impl From<StorageError> for FolkmootError {
    fn from(error: StorageError) -> Self {
        Self::StorageFailed { detail: error.to_string() }
    }
}

impl From<ExamplesError> for FolkmootError {
    fn from(error: ExamplesError) -> Self {
        Self::BadExample { detail: error.to_string() }
    }
}

impl From<EvaluateError> for FolkmootError {
    fn from(error: EvaluateError) -> Self {
        Self::BadExample { detail: error.to_string() }
    }
}

/// What an app's own callback throws.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
pub enum CallbackError {
    /// It failed.
    #[error("{detail}")]
    Failed {
        /// How.
        detail: String,
    },
}

impl From<uniffi::UnexpectedUniFFICallbackError> for CallbackError {
    fn from(error: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Failed { detail: error.reason }
    }
}
