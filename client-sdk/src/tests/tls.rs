use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{ServerConfig, SupportedProtocolVersion, pki_types::PrivateKeyDer, version};
use tokio_rustls::TlsAcceptor;

use super::{
    fake::{Fake, NOW, Trouble},
    listener::listen,
};
use crate::{ClientKey, Host, HttpSettings, NotPinnedError, Transport, TransportError, pins_of};

/// The certificates of a coordinator: its own, the one of an authority in between, and the root.
struct Chain {
    leaf: Certificate,
    key: KeyPair,
    between: Certificate,
    root: Certificate,
}

impl Chain {
    fn new() -> Self {
        let authority = |name: &str| {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            (params, KeyPair::generate().unwrap())
        };
        let ((root, root_key), (between, between_key)) = (authority("root"), authority("between"));
        let root_certificate = root.self_signed(&root_key).unwrap();
        let between_certificate =
            between.signed_by(&between_key, &Issuer::from_params(&root, &root_key)).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &Issuer::from_params(&between, &between_key)).unwrap();
        Self { leaf, key, between: between_certificate, root: root_certificate }
    }

    /// Serves with these versions of TLS. Sends `further` after the chain.
    async fn serve(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        further: Option<&Certificate>,
    ) -> u16 {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let chain = [Some(&self.leaf), Some(&self.between), further].into_iter().flatten();
        let chain = chain.map(|certificate| certificate.der().clone()).collect();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let fake = Arc::new(Fake::new(1, Trouble::default()));
        listen(fake, Some(TlsAcceptor::from(Arc::new(config)))).await
    }
}

fn pin(certificate: &Certificate) -> String {
    pins_of(certificate.pem().as_bytes()).unwrap().remove(0)
}

/// Enrols with the coordinator at this port, trusting this root and requiring one of these pins.
async fn enrol(port: u16, root: &Certificate, pins: &[String]) -> Result<(), TransportError> {
    let certificate_pem = Some(root.pem().into_bytes());
    let settings = HttpSettings { certificate_pem, pins: pins.to_vec(), ..HttpSettings::default() };
    let (key, host) = (ClientKey::from_secret([3; 32]), Host::new(|| NOW, [1; 32]));
    let transport = Transport::new(&settings, &format!("https://127.0.0.1:{port}"), key, host)?;
    transport.enrol("token").await.map(drop)
}

#[tokio::test]
async fn only_tls_1_3_and_the_given_certificate_will_do() {
    let (chain, other) = (Chain::new(), Chain::new());
    let [new, old] = [&version::TLS13, &version::TLS12];
    let (port, old_port) = (chain.serve(&[new], None).await, chain.serve(&[old], None).await);
    // Pins have a TLS configuration of their own.
    for pins in [vec![], vec![pin(&chain.leaf)]] {
        enrol(port, &chain.root, &pins).await.unwrap();
        for (port, root) in [(port, &other.root), (old_port, &chain.root)] {
            let refused = enrol(port, root, &pins).await;
            assert!(matches!(refused, Err(TransportError::Network(_))), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn a_pinned_key_is_in_the_chain() {
    let (chain, other) = (Chain::new(), Chain::new());
    let port = chain.serve(&[&version::TLS13], None).await;
    let [leaf, between, backup] = [&chain.leaf, &chain.between, &other.leaf].map(pin);
    for pins in [vec![leaf.clone()], vec![between.clone()], vec![backup.clone(), leaf.clone()]] {
        enrol(port, &chain.root, &pins).await.unwrap();
    }
    let refused = enrol(port, &chain.root, std::slice::from_ref(&backup)).await;
    let Err(TransportError::NotPinned(NotPinnedError { found })) = &refused else { panic!("{refused:?}") };
    assert_eq!(*found, [leaf.clone(), between]);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains(&leaf) && text.contains("add the pin that the operator confirms"), "{text}");
}

/// Certificates are public, so whoever has another certificate of the same authority could send a copy of a pinned one.
#[tokio::test]
async fn a_pinned_certificate_beside_the_chain_does_not_count() {
    let (chain, pinned) = (Chain::new(), Chain::new());
    for copy in [&pinned.leaf, &pinned.between] {
        let port = chain.serve(&[&version::TLS13], Some(copy)).await;
        enrol(port, &chain.root, &[pin(&chain.leaf)]).await.unwrap();
        let refused = enrol(port, &chain.root, &[pin(copy)]).await;
        assert!(matches!(refused, Err(TransportError::NotPinned(_))), "{refused:?}");
    }
}

#[test]
fn keys_are_not_pinned_without_tls() {
    let settings = HttpSettings { pins: vec![pin(&Chain::new().leaf)], ..HttpSettings::default() };
    let (key, host) = (ClientKey::from_secret([3; 32]), Host::new(|| NOW, [1; 32]));
    let refused = Transport::new(&settings, "http://127.0.0.1:1", key, host);
    assert!(matches!(refused, Err(TransportError::Pins(text)) if text.contains("http://")));
}
