use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum_server::tls_rustls::RustlsConfig;
use folkmoot_protocol::Timestamp;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{NoServerSessionStorage, danger::ClientCertVerifier},
};

use super::{CertificateFiles, ClientAuthority, TlsError, has_name, read, unusable, warn_of_its_end};

/// A certificate in use, with the authority of client certificates if there is one. Both can be replaced while the
/// coordinator runs.
#[derive(Clone)]
pub struct LiveCertificate {
    files: CertificateFiles,
    clients: Option<ClientAuthority>,
    served: RustlsConfig,
    loaded: Arc<Mutex<Loaded>>,
}

/// The files in use, as they were read.
struct Loaded {
    contents: Contents,
    /// The first certificate of the chain.
    leaf: Option<CertificateDer<'static>>,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
    /// The number of times that the files were replaced.
    version: u64,
}

/// The bytes of all files.
#[derive(PartialEq, Eq)]
pub(super) struct Contents {
    chain: Vec<u8>,
    key: Vec<u8>,
    clients: Option<[Vec<u8>; 2]>,
}

impl Contents {
    pub(super) fn read(
        files: &CertificateFiles,
        clients: Option<&ClientAuthority>,
    ) -> Result<Self, TlsError> {
        let clients = clients.map(ClientAuthority::read).transpose()?;
        Ok(Self { chain: read(&files.chain)?, key: read(&files.key)?, clients })
    }
}

/// The result of reloading a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// The files have not changed.
    Same,
    /// New connections use the new files, and open connections are judged by the new authority of clients.
    Exchanged,
}

impl LiveCertificate {
    /// Loads a certificate chain and its key, for TLS 1.3 with HTTP/2 and HTTP/1.1. With `clients`, connections are asked
    /// for a client certificate: one that this authority did not issue, or that has expired or was revoked, ends the
    /// handshake. Connections without one are accepted; [`super::certificate_of`] tells them apart.
    ///
    /// # Errors
    /// Fails if a file cannot be read or used, or the key does not match the certificate.
    pub fn load(
        files: CertificateFiles,
        clients: Option<ClientAuthority>,
        now: Timestamp,
    ) -> Result<Self, TlsError> {
        let contents = Contents::read(&files, clients.as_ref())?;
        let verifier = verifier(clients.as_ref(), &contents)?;
        let config = server_config(&files, &contents, verifier.clone(), now)?;
        let served = RustlsConfig::from_config(Arc::new(config));
        let loaded = Loaded { leaf: leaf(&contents), contents, verifier, version: 0 };
        Ok(Self { files, clients, served, loaded: Arc::new(Mutex::new(loaded)) })
    }

    /// Reads the files again. Open connections keep the coordinator's certificate.
    ///
    /// # Errors
    /// Fails if a file cannot be read or used, or the key does not match the certificate. Everything then stays as it
    /// was.
    pub fn reload(&self, now: Timestamp) -> Result<Reload, TlsError> {
        let found = Contents::read(&self.files, self.clients.as_ref())?;
        let mut loaded = self.lock();
        if loaded.contents == found {
            return Ok(Reload::Same);
        }
        let verifier = verifier(self.clients.as_ref(), &found)?;
        let config = server_config(&self.files, &found, verifier.clone(), now)?;
        self.served.reload_from_config(Arc::new(config));
        let version = loaded.version + 1;
        *loaded = Loaded { leaf: leaf(&found), contents: found, verifier, version };
        Ok(Reload::Exchanged)
    }

    /// Returns whether the certificate in use is for this host name or IP address.
    pub fn has_name(&self, name: &str) -> bool {
        self.lock().leaf.as_ref().is_some_and(|leaf| has_name(leaf, name))
    }

    /// Returns the paths of the coordinator's own files.
    pub fn files(&self) -> &CertificateFiles {
        &self.files
    }

    /// Returns whether clients need a certificate.
    pub(crate) fn wants_clients(&self) -> bool {
        self.clients.is_some()
    }

    /// Returns what verifies client certificates, with the version of its files.
    pub(super) fn verifier(&self) -> (u64, Option<Arc<dyn ClientCertVerifier>>) {
        let loaded = self.lock();
        (loaded.version, loaded.verifier.clone())
    }

    /// Returns the configuration for a listener.
    pub(crate) fn served(&self) -> RustlsConfig {
        self.served.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn leaf(contents: &Contents) -> Option<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(&contents.chain).next().and_then(Result::ok)
}

pub(super) fn verifier(
    clients: Option<&ClientAuthority>,
    contents: &Contents,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
    match (clients, &contents.clients) {
        (Some(authority), Some(contents)) => authority.verifier(contents).map(Some),
        _ => Ok(None),
    }
}

pub(super) fn server_config(
    files: &CertificateFiles,
    contents: &Contents,
    clients: Option<Arc<dyn ClientCertVerifier>>,
    now: Timestamp,
) -> Result<ServerConfig, TlsError> {
    let chain = CertificateDer::pem_slice_iter(&contents.chain)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unusable(&files.chain, error))?;
    let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|error| unusable(&files.key, error))?;
    warn_of_its_end(&files.chain, &chain, now);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring's provider knows TLS 1.3");
    let wants_clients = clients.is_some();
    let builder = match clients {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| unusable(&files.chain, error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    if wants_clients {
        // A resumed session would keep the certificate of its first handshake, without a look at dates and revocations.
        config.session_storage = Arc::new(NoServerSessionStorage {});
    }
    Ok(config)
}
