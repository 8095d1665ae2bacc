//! Pinned keys of coordinators.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use folkmoot_protocol::BlobDigest;
use rustls::{
    DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor,
    },
    crypto::WebPkiSupportedAlgorithms,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

use super::{NotPinnedError, TransportError};

/// The maximum number of pins.
const PINS_MAX: usize = 8;
/// The length of a SHA-256, in bytes.
const PIN_BYTES: usize = 32;
/// The most characters of a wrong pin that an error repeats.
const SHOWN_CHARACTERS_MAX: usize = 64;

/// Returns the pins of the keys of all certificates in a PEM, in their order: the SHA-256 of each SubjectPublicKeyInfo in
/// base64. Other content is skipped.
///
/// # Errors
/// [`TransportError::NoCertificate`] if the PEM has no certificate; [`TransportError::Tls`] if one cannot be parsed.
pub fn pins_of(pem: &[u8]) -> Result<Vec<String>, TransportError> {
    let pin = |certificate: Result<CertificateDer<'_>, _>| {
        let certificate = certificate.map_err(|_| TransportError::NoCertificate)?;
        pin_of(&certificate).map_err(TransportError::Tls)
    };
    let pins = CertificateDer::pem_slice_iter(pem).map(pin).collect::<Result<Vec<_>, _>>()?;
    if pins.is_empty() { Err(TransportError::NoCertificate) } else { Ok(pins) }
}

fn pin_of(certificate: &CertificateDer<'_>) -> Result<String, rustls::Error> {
    let key = ParsedCertificate::try_from(certificate)?.subject_public_key_info();
    Ok(STANDARD.encode(BlobDigest::of(&key).as_bytes()))
}

/// Checks the form of pins.
///
/// # Errors
/// [`TransportError::Pins`] if there are too many, or one is not 32 bytes in base64.
pub(super) fn parse_pins(pins: &[String]) -> Result<Vec<String>, TransportError> {
    if pins.len() > PINS_MAX {
        let text = format!("there are {} pins, and at most {PINS_MAX} are allowed; remove some", pins.len());
        return Err(TransportError::Pins(text));
    }
    let is_pin = |pin: &String| STANDARD.decode(pin).is_ok_and(|digest| digest.len() == PIN_BYTES);
    match pins.iter().find(|pin| !is_pin(pin)) {
        Some(wrong) => Err(TransportError::Pins(format!(
            "`{}` is not a pin, which is the SHA-256 of a public key in base64 ({PIN_BYTES} bytes, 44 characters); `folkmoot \
             doctor` prints that of a coordinator",
            wrong.chars().take(SHOWN_CHARACTERS_MAX).collect::<String>()
        ))),
        None => Ok(pins.to_vec()),
    }
}

/// Verifies the coordinator as usual, and then looks for a pinned key.
#[derive(Debug)]
pub(super) struct PinnedVerifier {
    pub usual: Arc<dyn ServerCertVerifier>,
    pub pins: Vec<String>,
    pub algorithms: WebPkiSupportedAlgorithms,
}

impl PinnedVerifier {
    /// Returns the pins of the certificate and of those that have issued it. A coordinator may send further
    /// certificates, for example a copy of a pinned one that is not its own, so each must have signed the chain that
    /// leads to `leaf`.
    fn verified(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<Vec<String>, rustls::Error> {
        let parsed = ParsedCertificate::try_from(leaf)?;
        let mut found = vec![pin_of(leaf)?];
        for issuer in others {
            let mut anchor = RootCertStore::empty();
            anchor.add(issuer.clone().into_owned())?;
            let algorithms = self.algorithms.all;
            if verify_server_cert_signed_by_trust_anchor(&parsed, &anchor, others, now, algorithms).is_ok() {
                found.push(pin_of(issuer)?);
            }
        }
        Ok(found)
    }
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.usual.verify_server_cert(leaf, others, name, ocsp_response, now)?;
        let found = self.verified(leaf, others, now)?;
        match found.iter().any(|pin| self.pins.contains(pin)) {
            true => Ok(verified),
            false => Err(rustls::Error::Other(OtherError(Arc::new(NotPinnedError { found })))),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}
