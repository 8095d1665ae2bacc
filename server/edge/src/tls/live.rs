use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum_server::tls_rustls::RustlsConfig;
use folkmoot_protocol::Timestamp;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{NoServerSessionStorage, danger::ClientCertVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
};

use super::{
    CertificateFiles, ClientAuthority, ROOT_FILE, TlsError, ensure_authority, has_name, read, unusable,
    warn_of_its_end,
};

/// A certificate in use, with the authority of client certificates if there is one. Each can be replaced while the
/// coordinator runs.
#[derive(Clone)]
pub struct LiveCertificate {
    files: CertificateFiles,
    clients: Option<ClientAuthority>,
    served: RustlsConfig,
    loaded: Arc<Mutex<Loaded>>,
}

/// The files in use.
struct Loaded {
    own: Arc<Own>,
    clients: Option<Arc<Clients>>,
    /// The number of times that the files of the authority were replaced.
    version: u64,
}

/// The certificate chain and its key.
pub(super) struct Own {
    /// The bytes of both files.
    bytes: [Vec<u8>; 2],
    certified: Arc<CertifiedKey>,
}

/// The authority of client certificates.
struct Clients {
    /// The bytes of both files.
    bytes: [Vec<u8>; 2],
    verifier: Arc<dyn ClientCertVerifier>,
}

/// The result of reloading a certificate or the authority of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// The files have not changed.
    Same,
    /// The new files are in use.
    Exchanged,
}

impl Own {
    fn read(files: &CertificateFiles) -> Result<[Vec<u8>; 2], TlsError> {
        Ok([read(&files.chain)?, read(&files.key)?])
    }

    fn parse(files: &CertificateFiles, bytes: [Vec<u8>; 2], now: Timestamp) -> Result<Self, TlsError> {
        let [chain, key] = &bytes;
        let chain = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unusable(&files.chain, error))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| unusable(&files.key, error))?;
        warn_of_its_end(&files.chain, &chain, now);
        let certified = CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider())
            .map_err(|error| unusable(&files.chain, error))?;
        Ok(Self { certified: Arc::new(certified), bytes })
    }

    /// Reads a certificate chain and its key.
    ///
    /// # Errors
    /// Fails if a file cannot be read or used, or the key does not match the certificate.
    pub(super) fn load(files: &CertificateFiles, now: Timestamp) -> Result<Self, TlsError> {
        Self::parse(files, Self::read(files)?, now)
    }
}

impl Clients {
    fn parse(authority: &ClientAuthority, bytes: [Vec<u8>; 2]) -> Result<Self, TlsError> {
        Ok(Self { verifier: authority.verifier(&bytes)?, bytes })
    }
}

impl Loaded {
    /// Builds the configuration for a listener.
    fn config(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("ring's provider knows TLS 1.3");
        let builder = match &self.clients {
            Some(clients) => builder.with_client_cert_verifier(clients.verifier.clone()),
            None => builder.with_no_client_auth(),
        };
        let certified = SingleCertAndKey::from(self.own.certified.clone());
        let mut config = builder.with_cert_resolver(Arc::new(certified));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        if self.clients.is_some() {
            // A resumed session would keep the certificate of its first handshake, without a look at dates and
            // revocations.
            config.session_storage = Arc::new(NoServerSessionStorage {});
        }
        Arc::new(config)
    }
}

impl LiveCertificate {
    /// Loads the certificate of a host: the operator's own files, or one from the host's own authority, which is created in the
    /// data folder if it is missing. Returns `None` if a proxy serves TLS (`has_tls` is false). The path is that of the root
    /// certificate of the own authority.
    ///
    /// # Errors
    /// [`TlsError`] if the files cannot be used or created.
    pub fn of_host(
        has_tls: bool,
        files: Option<CertificateFiles>,
        (data, host_names): (&Path, &[String]),
        clients: Option<ClientAuthority>,
        now: Timestamp,
    ) -> Result<(Option<Self>, Option<PathBuf>), TlsError> {
        if !has_tls {
            return Ok((None, None));
        }
        if let Some(files) = files {
            return Ok((Some(Self::load(files, clients, now)?), None));
        }
        ensure_authority(data, host_names, now)?;
        let own = Self::load(CertificateFiles::own(data), clients, now)?;
        Ok((Some(own), Some(data.join(ROOT_FILE))))
    }

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
        let own = Arc::new(Own::load(&files, now)?);
        let load = |authority: &ClientAuthority| Clients::parse(authority, authority.read()?).map(Arc::new);
        let loaded = Loaded { own, clients: clients.as_ref().map(load).transpose()?, version: 0 };
        let served = RustlsConfig::from_config(loaded.config());
        Ok(Self { files, clients, served, loaded: Arc::new(Mutex::new(loaded)) })
    }

    /// Reads the certificate chain and its key again, for new connections. Open connections keep the previous ones.
    ///
    /// # Errors
    /// Fails if a file cannot be read or used, or the key does not match the certificate. The previous certificate then
    /// stays in use.
    pub fn reload(&self, now: Timestamp) -> Result<Reload, TlsError> {
        let bytes = Own::read(&self.files)?;
        if self.lock().own.bytes == bytes {
            return Ok(Reload::Same);
        }
        let own = Arc::new(Own::parse(&self.files, bytes, now)?);
        self.replace(|loaded| loaded.own = own);
        Ok(Reload::Exchanged)
    }

    /// Reads the authority of clients and its revocations again, for new and open connections. Returns `None` if clients
    /// need no certificate.
    ///
    /// # Errors
    /// Fails if a file cannot be read or used. The previous authority and revocations then stay in use.
    pub fn reload_clients(&self) -> Result<Option<Reload>, TlsError> {
        let Some(authority) = &self.clients else { return Ok(None) };
        let bytes = authority.read()?;
        if self.lock().clients.as_ref().is_some_and(|clients| clients.bytes == bytes) {
            return Ok(Some(Reload::Same));
        }
        let clients = Arc::new(Clients::parse(authority, bytes)?);
        self.replace(|loaded| {
            loaded.clients = Some(clients);
            loaded.version += 1;
        });
        Ok(Some(Reload::Exchanged))
    }

    /// Changes what is loaded, and serves it.
    fn replace(&self, change: impl FnOnce(&mut Loaded)) {
        let mut loaded = self.lock();
        change(&mut loaded);
        self.served.reload_from_config(loaded.config());
    }

    /// Returns whether the certificate in use is for this host name or IP address.
    pub fn has_name(&self, name: &str) -> bool {
        let own = self.lock().own.clone();
        own.certified.cert.first().is_some_and(|leaf| has_name(leaf, name))
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
        (loaded.version, loaded.clients.as_ref().map(|clients| clients.verifier.clone()))
    }

    /// Returns the configuration for a listener.
    pub(crate) fn served(&self) -> RustlsConfig {
        self.served.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
