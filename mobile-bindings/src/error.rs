use folkmoot_client::{
    ClientError, StorageError, TransportError,
    engine::{EvaluateError, ExamplesError},
    protocol::ErrorCode,
};

/// Why a call failed. The names are stable; the details are for people to read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
pub enum FolkmootError {
    /// An option is invalid or exceeds its limit.
    #[error("{detail}")]
    BadOption {
        /// The option, its value and what is expected.
        detail: String,
    },
    /// The examples have the wrong shape or invalid values.
    #[error("{detail}")]
    BadExample {
        /// The problem with the examples.
        detail: String,
    },
    /// There are no examples to train on.
    #[error("there are no examples; add some, or set a trainer that has its own")]
    NoExamples,
    /// The client is not enrolled and has no token.
    #[error("{detail}")]
    NotEnrolled {
        /// The error text, with the remedy.
        detail: String,
    },
    /// The coordinator refused this client.
    #[error("{detail}")]
    Refused {
        /// The coordinator's error code; none if this version does not know it.
        code: Option<ErrorCode>,
        /// Details for people to read.
        detail: String,
    },
    /// The coordinator cannot be reached, or its response is unusable.
    #[error("{detail}")]
    Unreachable {
        /// The error text, with the cause.
        detail: String,
    },
    /// A file in the state directory, or the app's secret storage, cannot be used.
    #[error("{detail}")]
    StorageFailed {
        /// The file, and the cause.
        detail: String,
    },
    /// There is no model on this device yet.
    #[error("there is no model yet; update the model, or wait for the first assignment")]
    NoModel,
    /// The model that the operator has rolled out cannot be used on this device. Predictions keep the model before.
    #[error("{detail}")]
    ModelUnusable {
        /// The rollout and the reason.
        detail: String,
    },
    /// The client is already running.
    #[error("this client is already running; stop it first")]
    AlreadyRunning,
    /// The client was forgotten or closed.
    #[error("this client was forgotten or closed; connect a new one")]
    Forgotten,
    /// A bug in the library.
    #[error("this is a bug in the client, please report it: {detail}")]
    Internal {
        /// The error text, with the cause.
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
            ClientError::Model { .. } => Self::ModelUnusable { detail },
            ClientError::Storage(error) => error.into(),
            ClientError::Randomness(_) | ClientError::Session(_) => Self::Internal { detail },
        }
    }
}

impl From<TransportError> for FolkmootError {
    fn from(error: TransportError) -> Self {
        let detail = error.to_string();
        match error {
            TransportError::Address(_)
            | TransportError::Certificate(_)
            | TransportError::NoCertificate
            | TransportError::ClientCertificate(_)
            | TransportError::Pins(_)
            | TransportError::Tls(_) => Self::BadOption { detail },
            TransportError::NotEnrolled => Self::NotEnrolled { detail },
            TransportError::Refused(problem) => Self::Refused { code: problem.code.known(), detail },
            TransportError::Local(_) => Self::StorageFailed { detail },
            TransportError::Network(_)
            | TransportError::NotPinned(_)
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

/// An error that the app's callback throws.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
pub enum CallbackError {
    /// The callback failed.
    #[error("{detail}")]
    Failed {
        /// The reason.
        detail: String,
    },
}

impl From<uniffi::UnexpectedUniFFICallbackError> for CallbackError {
    fn from(error: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Failed { detail: error.reason }
    }
}
