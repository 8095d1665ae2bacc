use std::fmt;

use reqwest::Url;

use super::TransportError;

/// Connection settings.
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// The only trusted certificates (PEM). If `None`, the system's certificates are trusted.
    pub certificate_pem: Option<Vec<u8>>,
    /// True to use HTTP/1.1 only. With HTTP/2, many waiting clients in one process would share one connection, which
    /// limits its number of streams.
    pub http1_only: bool,
    /// The client's own certificate, for coordinators that require one.
    pub client_certificate: Option<ClientCertificate>,
    /// The pins of the coordinator's keys, at most 8: the SHA-256 of a public key (its DER-encoded SubjectPublicKeyInfo) in
    /// base64. A connection needs a coordinator with one of these keys, in its own certificate or in that of an authority in
    /// the chain that it sends. Pins are checked after the usual verification, not instead of it. If the list is empty, every
    /// key is accepted.
    pub pins: Vec<String>,
}

impl HttpSettings {
    /// Checks that connections to this address use the settings.
    ///
    /// # Errors
    /// [`TransportError::Pins`] if there are pins, and the address is plain HTTP.
    pub(crate) fn check_address(&self, coordinator: &Url) -> Result<(), TransportError> {
        if self.pins.is_empty() || coordinator.scheme() == "https" {
            return Ok(());
        }
        let text = "keys are pinned, but a coordinator with an http:// address has no key; use its https:// address, or \
                    remove the pins";
        Err(TransportError::Pins(text.into()))
    }
}

/// A client certificate with its private key.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, followed by its intermediates (PEM).
    pub chain_pem: Vec<u8>,
    /// The private key of the certificate (PEM).
    pub key_pem: Vec<u8>,
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key must not reach a log.
        f.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}
