//! The client certificates that connections present.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::http::Extensions;
use folkmoot_protocol::{ErrorCode, Problem, Timestamp};
use rustls::pki_types::{CertificateDer, UnixTime};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use yasna::{
    ASN1Error, ASN1ErrorKind,
    models::TaggedDerValue,
    tags::{TAG_BMPSTRING, TAG_IA5STRING, TAG_PRINTABLESTRING, TAG_UTF8STRING},
};

use super::LiveCertificate;
use crate::warn_of;

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
    address: IpAddr,
    presented: Vec<CertificateDer<'static>>,
    organisations: Option<Vec<String>>,
    /// The version of the authority's files that accepted the certificate, and when.
    accepted: Mutex<Option<(u64, Timestamp)>>,
}

impl ClientCertificate {
    /// Keeps the certificate that the client at `address` presented in the handshake; `presented` is empty if it has none.
    pub(crate) fn new(
        authority: LiveCertificate,
        address: IpAddr,
        presented: Vec<CertificateDer<'static>>,
    ) -> Self {
        let organisations = presented.first().and_then(|leaf| organisations(leaf));
        Self { authority, address, presented, organisations, accepted: Mutex::default() }
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
        self.organisations.as_deref().ok_or_else(|| {
            invalid(&"its subject cannot be read, or has an organisation that is not of the type UTF8String")
        })
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
        Some(certificate) => certificate.check(now).inspect_err(|problem| {
            let text = format!("a request from {} was refused: {}", certificate.address, problem.detail);
            warn_of("client_certificates", &text);
        }),
        None => Ok(&[]),
    }
}

/// Returns the organisations in the subject of a certificate, or `None` if the certificate or the text of one of them
/// cannot be parsed: without that name, the certificate would be good for every organisation.
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
                                let unknown = || ASN1Error::new(ASN1ErrorKind::Invalid);
                                found.push(text_of(&value).ok_or_else(unknown)?);
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

/// Decodes the text of a name. Returns `None` for types whose encoding is not certain, such as `TeletexString`.
fn text_of(value: &TaggedDerValue) -> Option<String> {
    let bytes = value.value();
    let text = || str::from_utf8(bytes).ok().map(str::to_owned);
    match value.tag() {
        TAG_UTF8STRING => text(),
        TAG_PRINTABLESTRING | TAG_IA5STRING => text().filter(|text| text.is_ascii()),
        TAG_BMPSTRING => {
            let (units, rest) = bytes.as_chunks::<2>();
            let units: Vec<u16> = units.iter().copied().map(u16::from_be_bytes).collect();
            if rest.is_empty() { String::from_utf16(&units).ok() } else { None }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    use super::*;

    /// Returns the organisations of a certificate that names this one.
    fn named(organisation: DnValue) -> Option<Vec<String>> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::OrganizationName, organisation);
        organisations(params.self_signed(&KeyPair::generate().unwrap()).unwrap().der())
    }

    /// Otherwise a certificate could be good for the organisation of others, or for all of them.
    #[test]
    fn only_text_of_a_certain_encoding_names_an_organisation() {
        let clinic = Some(vec!["Clinic".to_owned()]);
        assert_eq!(named(DnValue::Utf8String("Süd".into())), Some(vec!["Süd".to_owned()]));
        assert_eq!(named(DnValue::PrintableString("Clinic".try_into().unwrap())), clinic);
        assert_eq!(named(DnValue::Ia5String("Clinic".try_into().unwrap())), clinic);
        assert_eq!(named(DnValue::BmpString("Süd".try_into().unwrap())), Some(vec!["Süd".to_owned()]));
        assert_eq!(named(DnValue::TeletexString("Clinic".try_into().unwrap())), None);
        assert_eq!(named(DnValue::UniversalString("Clinic".try_into().unwrap())), None);
        let text = |tag, bytes: &[u8]| text_of(&TaggedDerValue::from_tag_and_bytes(tag, bytes.to_vec()));
        assert_eq!(text(TAG_BMPSTRING, &[0, 65, 0]), None, "half a letter");
        assert_eq!(text(TAG_UTF8STRING, &[0xff]), None);
        assert_eq!(text(TAG_PRINTABLESTRING, "ü".as_bytes()), None);
    }
}
