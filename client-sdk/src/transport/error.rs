use std::io;

use folkmoot_protocol::{BlobDigest, ErrorCode, Problem};
use folkmoot_session::Failure;

/// Why a request brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The address cannot be a coordinator's.
    #[error(
        "`{0}` is no coordinator's address: https://host[:port] is expected (http:// for this machine only)"
    )]
    Address(String),
    /// The certificate to trust cannot be used.
    #[error("the certificate cannot be used: {0:?}; give PEM, as the coordinator wrote it")]
    Certificate(#[source] reqwest::Error),
    /// There is no certificate in what is to be trusted.
    #[error("there is no certificate in the PEM; give the coordinator's, or that of its authority")]
    NoCertificate,
    /// The client has no id yet.
    #[error("the client is not enrolled: enrol first")]
    NotEnrolled,
    /// The coordinator refused, and said why.
    #[error("{}: {}", .0.code, .0.detail)]
    Refused(Box<Problem>),
    /// No answer came, or the connection broke.
    #[error("the coordinator cannot be reached: {0:?}")]
    Network(#[source] reqwest::Error),
    /// What came is no answer of a coordinator: a proxy's page, or a message over its limit.
    #[error("status {status}: {reason}; is there a proxy in between?")]
    NotUnderstood {
        /// The HTTP status.
        status: u16,
        /// What is wrong with it.
        reason: String,
    },
    /// A blob's bytes do not have its digest.
    #[error("the bytes of blob {0} were damaged on the way")]
    Damaged(BlobDigest),
    /// The connection was silent for too long.
    #[error("nothing came for {0} seconds")]
    Silence(u64),
    /// What is to be sent, or where a blob is to be stored, failed locally.
    #[error("local file: {0}")]
    Local(#[from] io::Error),
}

impl TransportError {
    /// Returns the coordinator's code, if it is a refusal with one that this build knows.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused(problem) => problem.code.known(),
            _ => None,
        }
    }
}

impl From<&TransportError> for Failure {
    /// Everything that is not a refusal is taken for a broken network: it is sent again.
    fn from(error: &TransportError) -> Self {
        match error {
            TransportError::Refused(problem) => Failure::from(problem.as_ref()),
            _ => Failure::network(),
        }
    }
}
