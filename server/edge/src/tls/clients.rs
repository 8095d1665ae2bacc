//! The client certificates that connections present.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::http::Extensions;
use folkmoot_protocol::{ErrorCode, Problem, Timestamp};
use rustls::pki_types::{CertificateDer, UnixTime};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::LiveCertificate;

/// The time for which an open connection's certificate is not verified again, in milliseconds.
const TRUSTED_MILLISECONDS: u64 = 60_000;
/// The object identifier of an organisation's name in the subject of a certificate (RFC 5280, appendix A.1).
const ORGANISATION: [u64; 4] = [2, 5, 4, 10];

/// A stream that may have the certificate of its peer.
pub trait Certified {
    /// Returns the certificate that the peer presented, followed by its intermediates. It is empty if there is none.
    fn certificates(&self) -> Vec<CertificateDer<'static>>;
}

impl Certified for TcpStream {
    fn certificates(&self) -> Vec<CertificateDer<'static>> {
        Vec::new()
    }
}

impl Certified for TlsStream<TcpStream> {
    fn certificates(&self) -> Vec<CertificateDer<'static>> {
        let presented = self.get_ref().1.peer_certificates().unwrap_or_default();
        presented.iter().map(|certificate| certificate.clone().into_owned()).collect()
    }
}

/// The client certificate of a connection to a coordinator that requires one.
pub struct ClientCertificate {
    authority: LiveCertificate,
    presented: Vec<CertificateDer<'static>>,
    organisations: Option<Vec<String>>,
    /// The version of the authority's files that accepted the certificate, and when.
    accepted: Mutex<Option<(u64, Timestamp)>>,
}

impl ClientCertificate {
    /// Keeps the certificate that a client presented in the handshake; `presented` is empty if it has none.
    pub(crate) fn new(authority: LiveCertificate, presented: Vec<CertificateDer<'static>>) -> Self {
        let organisations = presented.first().and_then(|leaf| organisations(leaf));
        Self { authority, presented, organisations, accepted: Mutex::default() }
    }

    /// Verifies the certificate of an open connection: at its first request, after the authority's files have changed,
    /// and once a minute. Returns the names of organisations in its subject.
    ///
    /// # Errors
    /// [`ErrorCode::ClientCertificateMissing`] or [`ErrorCode::ClientCertificateInvalid`].
    fn check(&self, now: Timestamp) -> Result<&[String], Box<Problem>> {
        let Some((leaf, between)) = self.presented.split_first() else {
            let detail = "this coordinator accepts only clients with a certificate; give the client the certificate and \
                          the key that its operator has issued for it";
            return Err(Box::new(Problem::new(ErrorCode::ClientCertificateMissing, detail)));
        };
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let (version, verifier) = self.authority.verifier();
        let is_fresh = |(by, at): (u64, Timestamp)| {
            by == version && (at.0..=at.0.saturating_add(TRUSTED_MILLISECONDS)).contains(&now.0)
        };
        if !accepted.is_some_and(is_fresh) {
            let at = UnixTime::since_unix_epoch(Duration::from_millis(now.0));
            let verified = verifier.map(|verifier| verifier.verify_client_cert(leaf, between, at));
            match verified {
                Some(Ok(_)) => *accepted = Some((version, now)),
                Some(Err(error)) => return Err(invalid(&error)),
                None => return Err(invalid(&"the coordinator has no authority for it")),
            }
        }
        self.organisations.as_deref().ok_or_else(|| invalid(&"its subject cannot be read"))
    }
}

fn invalid(reason: &dyn ToString) -> Box<Problem> {
    let detail = format!(
        "the client certificate is not accepted: {}; ask the coordinator's operator for a new one",
        reason.to_string()
    );
    Box::new(Problem::new(ErrorCode::ClientCertificateInvalid, detail))
}

/// Checks the client certificate of the connection on which a request came, and returns the names of organisations in
/// the certificate's subject. There are none if the coordinator requires no client certificates.
///
/// # Errors
/// [`ErrorCode::ClientCertificateMissing`] if the client presented no certificate;
/// [`ErrorCode::ClientCertificateInvalid`] if its certificate has expired or was revoked since the handshake.
pub fn certificate_of(extensions: &Extensions, now: Timestamp) -> Result<&[String], Box<Problem>> {
    match extensions.get::<Arc<ClientCertificate>>() {
        Some(certificate) => certificate.check(now),
        None => Ok(&[]),
    }
}

/// Returns the organisations in the subject of a certificate, or `None` if the certificate cannot be parsed. Text in
/// an encoding other than UTF-8 is replaced, so that it equals no name.
fn organisations(certificate: &CertificateDer<'_>) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let parsed = yasna::parse_der(certificate, |reader| {
        reader.read_sequence(|reader| {
            reader.next().read_sequence(|body| {
                let version = yasna::Tag::context(0);
                body.read_optional(|reader| reader.read_tagged(version, |reader| reader.read_der()))?;
                // Serial number, algorithm, issuer and validity come before the subject.
                for _ in 0..4 {
                    body.next().read_der()?;
                }
                body.next().read_sequence_of(|names| {
                    names.read_set_of(|attribute| {
                        attribute.read_sequence(|attribute| {
                            let kind = attribute.next().read_oid()?;
                            let value = attribute.next().read_tagged_der()?;
                            if kind.components() == &ORGANISATION {
                                found.push(String::from_utf8_lossy(value.value()).into_owned());
                            }
                            Ok(())
                        })
                    })
                })?;
                while body.read_optional(|reader| reader.read_der())?.is_some() {}
                Ok(())
            })?;
            reader.next().read_der()?;
            reader.next().read_der()?;
            Ok(())
        })
    });
    parsed.ok().map(|()| found)
}
