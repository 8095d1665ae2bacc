//! TLS with a client certificate, or with pinned keys of the coordinator.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use rustls_platform_verifier::Verifier;

use super::{
    ClientCertificate, HttpSettings, TransportError,
    pins::{PinnedVerifier, parse_pins},
};

/// Returns the TLS configuration for a client certificate or pins, or `None` if the settings have neither. Apart from
/// these two, it is what reqwest would use: TLS 1.3, and the given root certificates or those of the system.
///
/// # Errors
/// As [`super::build_http`].
pub(super) fn client_config(settings: &HttpSettings) -> Result<Option<ClientConfig>, TransportError> {
    if settings.client_certificate.is_none() && settings.pins.is_empty() {
        return Ok(None);
    }
    let default = || Arc::new(rustls::crypto::ring::default_provider());
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(default);
    let pins = parse_pins(&settings.pins)?;
    let mut verifier = usual_verifier(settings, &provider)?;
    if !pins.is_empty() {
        let algorithms = provider.signature_verification_algorithms;
        verifier = Arc::new(PinnedVerifier { usual: verifier, pins, algorithms });
    }
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(TransportError::Tls)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &settings.client_certificate {
        Some(certificate) => {
            let (chain, key) = parsed(certificate)?;
            let refused = |error: rustls::Error| TransportError::ClientCertificate(error.to_string());
            builder.with_client_auth_cert(chain, key).map_err(refused)?
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = match settings.http1_only {
        true => vec![b"http/1.1".to_vec()],
        false => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    Ok(Some(config))
}

/// Verifies chains against the given root certificates, or against those of the system.
fn usual_verifier(
    settings: &HttpSettings,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TransportError> {
    let Some(pem) = &settings.certificate_pem else {
        return Ok(Arc::new(Verifier::new(provider.clone()).map_err(TransportError::Tls)?));
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|_| TransportError::NoCertificate)?;
        roots.add(certificate).map_err(TransportError::Tls)?;
    }
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    Ok(builder.build().map_err(|_| TransportError::NoCertificate)?)
}

fn parsed(
    certificate: &ClientCertificate,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TransportError> {
    let refused = |detail: String| TransportError::ClientCertificate(detail);
    let chain = CertificateDer::pem_slice_iter(&certificate.chain_pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| refused(error.to_string()))?;
    if chain.is_empty() {
        return Err(refused("the PEM contains no certificate".into()));
    }
    let key = PrivateKeyDer::from_pem_slice(&certificate.key_pem)
        .map_err(|error| refused(format!("its private key cannot be read: {error}")))?;
    Ok((chain, key))
}
