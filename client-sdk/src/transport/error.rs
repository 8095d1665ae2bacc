use std::io;

use folkmoot_protocol::{BlobDigest, ErrorCode, Problem};
use folkmoot_session::Failure;

use super::not_pinned::NotPinnedError;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The address is not a valid coordinator address.
    #[error("`{0}` is not a coordinator's address; use https://host[:port] (http:// for this machine only)")]
    Address(String),
    /// The trusted certificate cannot be parsed.
    #[error(
        "the certificate cannot be used: {0:?}; use a file in PEM format, such as the coordinator's `ca.pem`"
    )]
    Certificate(#[source] reqwest::Error),
    /// The PEM contains no certificate.
    #[error(
        "the PEM contains no certificate; give the coordinator's certificate or that of its certificate authority"
    )]
    NoCertificate,
    /// The client certificate, or its private key, cannot be used.
    #[error(
        "the client certificate cannot be used: {0}; give the certificate and its private key as PEM files"
    )]
    ClientCertificate(String),
    /// A pin is invalid, or there are too many.
    #[error("{0}")]
    Pins(String),
    /// No key of the coordinator is pinned.
    #[error(transparent)]
    NotPinned(#[from] NotPinnedError),
    /// TLS cannot be set up: a certificate cannot be parsed, or the system's certificates cannot be read.
    #[error("TLS cannot be set up: {0}; check the certificate files, or those of the system")]
    Tls(#[source] rustls::Error),
    /// The client has no id yet.
    #[error("the client is not enrolled; enrol it first")]
    NotEnrolled,
    /// The coordinator refused the request and gave a reason.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// No response arrived, or the connection broke.
    #[error("the coordinator cannot be reached: {0:?}")]
    Network(#[source] reqwest::Error),
    /// The response does not come from a coordinator: a proxy's page, or a message over its size limit.
    #[error(
        "the response with HTTP status {status} cannot be used: {reason}; check for a proxy or captive portal"
    )]
    NotUnderstood {
        /// The HTTP status.
        status: u16,
        /// The problem with the response.
        reason: String,
    },
    /// A blob's bytes do not match its digest.
    #[error("the bytes of blob {0} were damaged in transit; download it again")]
    Damaged(BlobDigest),
    /// No data arrived for too long.
    #[error("the coordinator sent no data for {0} seconds; check the network")]
    Silence(u64),
    /// Reading the update or storing a blob failed locally.
    #[error("a local file cannot be read or written: {0}")]
    Local(#[from] io::Error),
}

impl TransportError {
    /// Returns the reason why no response arrived.
    pub(super) fn network(error: reqwest::Error) -> Self {
        match NotPinnedError::within(&error) {
            Some(cause) => Self::NotPinned(cause),
            None => Self::Network(error),
        }
    }

    /// Returns the coordinator's error code, if it refused with a code that this build knows.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused(problem) => problem.code.known(),
            _ => None,
        }
    }
}

impl From<&TransportError> for Failure {
    /// Treats everything except a refusal as a network failure, which is retried.
    fn from(error: &TransportError) -> Self {
        match error {
            TransportError::Refused(problem) => Failure::from(problem.as_ref()),
            _ => Failure::network(),
        }
    }
}
