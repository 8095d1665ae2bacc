//! The certificate that is served: an operator's own, or one of the coordinator's authority, whose root clients are given.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum_server::tls_rustls::RustlsConfig;
use folkmoot_protocol::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{
    CertificateError, RootCertStore, ServerConfig,
    client::{verify_server_cert_signed_by_trust_anchor, verify_server_name},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

/// Why the certificates could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path} holds no usable certificate or key: {detail}")]
    Unusable {
        /// The file.
        path: String,
        /// Why.
        detail: String,
    },
    /// Some of the files of the coordinator's own authority are there, and others are not.
    #[error(
        "{folder} has {there}, but not {missing}, so nothing is written there. If the certificate is your own, name its files \
         in the settings server.certificate and server.key; if the coordinator made it, put {missing} back, or move {there} \
         away to have all three made anew"
    )]
    Partial {
        /// The folder.
        folder: String,
        /// The files that are there.
        there: String,
        /// Those that are not.
        missing: String,
    },
    /// A certificate could not be made.
    #[error("a certificate could not be made: {0}")]
    Make(#[from] rcgen::Error),
}

/// The file of the root certificate, which clients are given.
pub const ROOT_FILE: &str = "ca.pem";
const CHAIN_FILE: &str = "server.pem";
const KEY_FILE: &str = "server.key";

/// Names that a certificate which is made here always has: the operator's own commands come by them.
const LOOPBACK_NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// For how many years a certificate is made. Its root cannot sign another, and clients are given the root: whoever makes it
/// anew has to give it to all clients again.
const YEARS: i16 = 10;
/// How long before its end a certificate is warned about: 30 days.
const WARNED_SECONDS: u64 = 30 * 86_400;

/// A certificate chain and its key, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, and those that vouch for it.
    pub chain: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// Returns the files of the coordinator's own authority in its data folder.
    pub fn own(folder: &Path) -> Self {
        Self { chain: folder.join(CHAIN_FILE), key: folder.join(KEY_FILE) }
    }

    /// Reads both.
    fn read(&self) -> Result<[Vec<u8>; 2], TlsError> {
        let read = |path: &Path| {
            fs::read(path).map_err(|source| TlsError::File { path: path.display().to_string(), source })
        };
        Ok([read(&self.chain)?, read(&self.key)?])
    }
}

/// Makes the authority and the server's certificate in `folder`, where there is none of their files. What is there stays as it
/// is, byte for byte, with a warning if it does not have a name.
///
/// The authority's own key is not kept: it signs one certificate and is forgotten, so nobody can steal it.
///
/// # Errors
/// [`TlsError::Partial`] if some of the files are there and others are not; otherwise if a file cannot be written.
pub fn ensure_authority(folder: &Path, host_names: &[String], now: Timestamp) -> Result<(), TlsError> {
    let names = [ROOT_FILE, CHAIN_FILE, KEY_FILE];
    // A link that leads nowhere is there, too: somebody put it in place.
    let (there, missing): (Vec<&str>, Vec<&str>) =
        names.iter().partition(|name| folder.join(name).symlink_metadata().is_ok());
    if missing.is_empty() {
        warn_of_missing_names(&folder.join(CHAIN_FILE), host_names);
        return Ok(());
    }
    if !there.is_empty() {
        let folder = folder.display().to_string();
        return Err(TlsError::Partial { folder, there: there.join(" and "), missing: missing.join(" and ") });
    }
    let root_key = KeyPair::generate()?;
    let mut root = CertificateParams::new(Vec::new())?;
    root.distinguished_name = named("Folkmoot coordinator authority");
    root.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    root.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut root, now);
    let root_certificate = root.self_signed(&root_key)?;
    let key = KeyPair::generate()?;
    let names: BTreeSet<String> =
        LOOPBACK_NAMES.iter().map(ToString::to_string).chain(host_names.iter().cloned()).collect();
    let mut server = CertificateParams::new(names.into_iter().collect::<Vec<_>>())?;
    server.distinguished_name = named("Folkmoot coordinator");
    set_validity(&mut server, now);
    let certificate = server.signed_by(&key, &Issuer::from_params(&root, &root_key))?;
    write_new(&folder.join(KEY_FILE), &key.serialize_pem())?;
    write_new(&folder.join(CHAIN_FILE), &certificate.pem())?;
    write_new(&folder.join(ROOT_FILE), &root_certificate.pem())
}

/// A day of the past, for clocks that differ, to [`YEARS`] from now.
fn set_validity(params: &mut CertificateParams, now: Timestamp) {
    let milliseconds = i64::try_from(now.0).unwrap_or_default();
    let today =
        jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC);
    let date = |date: jiff::civil::Date| {
        let part = |number: i8| u8::try_from(number).unwrap_or(1);
        // A day that every month has.
        rcgen::date_time_ymd(date.year().into(), part(date.month()), part(date.day()).min(28))
    };
    let (yesterday, today) = (today.date().saturating_sub(jiff::Span::new().days(1)), today.date());
    params.not_before = date(yesterday);
    params.not_after = date(today.saturating_add(jiff::Span::new().years(YEARS)));
}

/// A certificate that serves, and can be exchanged while it does.
#[derive(Clone)]
pub struct LiveCertificate {
    files: CertificateFiles,
    served: RustlsConfig,
    /// What is served: chain and key, as they were read.
    loaded: Arc<Mutex<[Vec<u8>; 2]>>,
}

/// What became of a certificate that was to be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// The files have not changed.
    Same,
    /// New connections get the new one.
    Exchanged,
}

impl LiveCertificate {
    /// Reads a certificate chain and its key: TLS 1.3 only, HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    /// If a file cannot be read or the two do not belong together.
    pub fn load(files: CertificateFiles, now: Timestamp) -> Result<Self, TlsError> {
        let loaded = files.read()?;
        let served = RustlsConfig::from_config(Arc::new(server_config(&files, &loaded, now)?));
        Ok(Self { files, served, loaded: Arc::new(Mutex::new(loaded)) })
    }

    /// Reads the files again. Connections that are open keep the certificate that they have.
    ///
    /// # Errors
    /// If a file cannot be read or the two do not belong together: what was served before is served on.
    pub fn reload(&self, now: Timestamp) -> Result<Reload, TlsError> {
        let found = self.files.read()?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if *loaded == found {
            return Ok(Reload::Same);
        }
        self.served.reload_from_config(Arc::new(server_config(&self.files, &found, now)?));
        *loaded = found;
        Ok(Reload::Exchanged)
    }

    /// Returns the files.
    pub fn files(&self) -> &CertificateFiles {
        &self.files
    }

    /// Returns what a listener serves with.
    pub(super) fn served(&self) -> RustlsConfig {
        self.served.clone()
    }
}

fn server_config(
    files: &CertificateFiles,
    [chain, key]: &[Vec<u8>; 2],
    now: Timestamp,
) -> Result<ServerConfig, TlsError> {
    let unusable = |path: &Path, detail: &dyn ToString| TlsError::Unusable {
        path: path.display().to_string(),
        detail: detail.to_string(),
    };
    let chain = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unusable(&files.chain, &error))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| unusable(&files.key, &error))?;
    warn_of_its_end(&files.chain, &chain, now);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring's provider knows TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| unusable(&files.chain, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn warn_of_its_end(file: &Path, chain: &[CertificateDer<'_>], now: Timestamp) {
    let certificate = file.display();
    if is_outside(chain, now.0 / 1000) {
        tracing::error!(%certificate, "the certificate has expired, or is not valid yet: clients refuse it; put a new one in its place");
    } else if is_outside(chain, now.0 / 1000 + WARNED_SECONDS) {
        tracing::warn!(%certificate, "the certificate expires within 30 days; put a new one in its place in time");
    }
}

/// Says whether the first certificate of a chain is not valid at a moment, in seconds since 1970.
fn is_outside(chain: &[CertificateDer<'_>], at: u64) -> bool {
    let ([first, between @ ..], Some(last)) = (chain, chain.last()) else { return false };
    let (Ok(certificate), mut roots) = (ParsedCertificate::try_from(first), RootCertStore::empty()) else {
        return false;
    };
    // Of the last one only its key is asked here: who issued it is the clients' to ask.
    if roots.add(last.clone()).is_err() {
        return false;
    }
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    let at = UnixTime::since_unix_epoch(Duration::from_secs(at));
    let verified =
        verify_server_cert_signed_by_trust_anchor(&certificate, &roots, between, at, algorithms.all);
    matches!(
        verified,
        Err(rustls::Error::InvalidCertificate(
            CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }
        ))
    )
}

fn warn_of_missing_names(chain_file: &Path, host_names: &[String]) {
    for name in missing_names(chain_file, host_names) {
        tracing::warn!(
            name,
            certificate = %chain_file.display(),
            "the certificate does not have this name, so clients that use it will refuse the connection; put one in \
             place that has it, or remove {CHAIN_FILE}, {KEY_FILE} and {ROOT_FILE} to have all three made anew (clients then \
             need the new {ROOT_FILE})",
        );
    }
}

fn missing_names<'a>(chain_file: &Path, host_names: &'a [String]) -> Vec<&'a str> {
    // One that cannot be read is reported when it is loaded.
    let Ok(der) = CertificateDer::from_pem_file(chain_file) else { return Vec::new() };
    let Ok(certificate) = ParsedCertificate::try_from(&der) else { return Vec::new() };
    let has = |name: &str| {
        ServerName::try_from(name).is_ok_and(|name| verify_server_name(&certificate, &name).is_ok())
    };
    let names = host_names.iter().map(String::as_str);
    names.filter(|name| !has(name)).collect()
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// Writes a file that is not there yet, readable for its owner only. One that is there is somebody's, and stays.
fn write_new(path: &Path, text: &str) -> Result<(), TlsError> {
    let failed = |source| TlsError::File { path: path.display().to_string(), source };
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)
}

#[cfg(test)]
mod tests;
