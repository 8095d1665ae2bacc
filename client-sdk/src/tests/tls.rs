use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ServerConfig, SupportedProtocolVersion, pki_types::PrivateKeyDer, version};
use tokio_rustls::TlsAcceptor;

use super::{
    fake::{Fake, NOW, Trouble},
    listener::listen,
};
use crate::{ClientKey, Host, HttpSettings, Transport, TransportError};

/// Enrols with a coordinator that supports these TLS versions, trusting its certificate or another one.
async fn enrol(
    versions: &[&'static SupportedProtocolVersion],
    trusts_it: bool,
) -> Result<(), TransportError> {
    let made = || generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let CertifiedKey { cert, signing_key } = made();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let fake = Arc::new(Fake::new(1, Trouble::default()));
    let port = listen(fake, Some(TlsAcceptor::from(Arc::new(config)))).await;
    let trusted = if trusts_it { cert.pem() } else { made().cert.pem() };
    let settings = HttpSettings { certificate_pem: Some(trusted.into_bytes()), http1_only: false };
    let key = ClientKey::from_secret([3; 32]);
    let host = Host::new(|| NOW, [1; 32]);
    let transport = Transport::new(&settings, &format!("https://127.0.0.1:{port}"), key, host)?;
    transport.enrol("token").await.map(drop)
}

#[tokio::test]
async fn only_tls_1_3_and_the_given_certificate_will_do() {
    enrol(&[&version::TLS13], true).await.unwrap();
    assert!(matches!(enrol(&[&version::TLS13], false).await, Err(TransportError::Network(_))));
    assert!(matches!(enrol(&[&version::TLS12], true).await, Err(TransportError::Network(_))));
}
