//! The TLS certificate: the operator's own, or one issued by the coordinator's own authority, whose root certificate
//! clients receive.

mod authority;
mod clients;
mod inspect;
mod live;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

pub use authority::ClientAuthority;
pub(crate) use clients::Certified;
pub use clients::{ClientCertificate, certificate_of};
use folkmoot_protocol::Timestamp;
pub use inspect::{Inspection, Validity, inspect, inspect_clients, is_issued_by, validity};
pub use live::{LiveCertificate, Reload};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{
    CertificateError, RootCertStore,
    client::{verify_server_cert_signed_by_trust_anchor, verify_server_name},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

/// The reason why certificates could not be created or read.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The path of the file.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file does not contain a usable certificate or key.
    #[error("{path} does not contain a usable certificate or key: {detail}")]
    Unusable {
        /// The path of the file.
        path: String,
        /// The reason, in the words of the parser or the TLS library.
        detail: String,
    },
    /// A file does not contain a usable certificate revocation list.
    #[error("{path} does not contain a usable certificate revocation list (CRL, in PEM format): {detail}")]
    Revocations {
        /// The path of the file.
        path: String,
        /// The reason, in the words of the parser or the TLS library.
        detail: String,
    },
    /// Only some files of the coordinator's own authority exist.
    #[error(
        "{folder} has {there}, but not {missing}, so nothing was written there. If the certificate is your own, name its files \
         in the settings server.certificate and server.key. If the coordinator created it, restore {missing}, or move {there} \
         away so that it creates all three again"
    )]
    Partial {
        /// The path of the folder.
        folder: String,
        /// The files that exist.
        there: String,
        /// The files that are missing.
        missing: String,
    },
    /// A certificate could not be created.
    #[error("a certificate could not be created: {0}")]
    Make(#[from] rcgen::Error),
}

/// The root certificate's file. Clients need a copy of it.
pub const ROOT_FILE: &str = "ca.pem";
const CHAIN_FILE: &str = "server.pem";
const KEY_FILE: &str = "server.key";

/// The names in every certificate that is created here. The operator's own commands connect to these names.
const LOOPBACK_NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// The validity of a created certificate, in years. The root's private key is not stored, so a later certificate has a
/// new root, which all clients then need.
const YEARS: i16 = 10;
/// The time before expiry at which the coordinator starts to warn, in seconds: 30 days.
pub const WARNED_SECONDS: u64 = 30 * 86_400;

/// The PEM files of a certificate chain and its private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, followed by its intermediates.
    pub chain: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// Returns the files of the coordinator's own authority in its data folder.
    pub fn own(folder: &Path) -> Self {
        Self { chain: folder.join(CHAIN_FILE), key: folder.join(KEY_FILE) }
    }
}

/// Reads a file with certificates, a key or revocations.
fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::File { path: path.display().to_string(), source })
}

fn unusable(path: &Path, detail: impl ToString) -> TlsError {
    TlsError::Unusable { path: path.display().to_string(), detail: detail.to_string() }
}

/// Creates the authority and the server's certificate in `folder`, if none of their files exist. Existing files are
/// never changed; a warning reports host names that they lack.
///
/// The authority's private key is not stored: it signs one certificate and is discarded, so nobody can steal it.
///
/// # Errors
/// [`TlsError::Partial`] if only some of the files exist; [`TlsError::File`] if a file cannot be written.
pub fn ensure_authority(folder: &Path, host_names: &[String], now: Timestamp) -> Result<(), TlsError> {
    if has_authority(folder)? {
        warn_of_missing_names(&folder.join(CHAIN_FILE), host_names);
        return Ok(());
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

/// Returns whether `folder` has the files of the coordinator's own authority.
///
/// # Errors
/// [`TlsError::Partial`] if only some of the files exist.
pub fn has_authority(folder: &Path) -> Result<bool, TlsError> {
    let names = [ROOT_FILE, CHAIN_FILE, KEY_FILE];
    // A dangling link counts as an existing file, because somebody created it.
    let (there, missing): (Vec<&str>, Vec<&str>) =
        names.iter().partition(|name| folder.join(name).symlink_metadata().is_ok());
    if !there.is_empty() && !missing.is_empty() {
        let folder = folder.display().to_string();
        return Err(TlsError::Partial { folder, there: there.join(" and "), missing: missing.join(" and ") });
    }
    Ok(missing.is_empty())
}

/// Sets the validity to [`YEARS`] from now, starting one day in the past in case clocks differ.
fn set_validity(params: &mut CertificateParams, now: Timestamp) {
    let milliseconds = i64::try_from(now.0).unwrap_or_default();
    let today =
        jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC);
    let date = |date: jiff::civil::Date| {
        let part = |number: i8| u8::try_from(number).unwrap_or(1);
        // Every month has a 28th day.
        rcgen::date_time_ymd(date.year().into(), part(date.month()), part(date.day()).min(28))
    };
    let (yesterday, today) = (today.date().saturating_sub(jiff::Span::new().days(1)), today.date());
    params.not_before = date(yesterday);
    params.not_after = date(today.saturating_add(jiff::Span::new().years(YEARS)));
}

fn warn_of_its_end(file: &Path, chain: &[CertificateDer<'_>], now: Timestamp) {
    let certificate = file.display();
    if is_outside(chain, now.0 / 1000) {
        tracing::error!(%certificate, "the certificate has expired or is not valid yet, so clients refuse it; replace it");
    } else if is_outside(chain, now.0 / 1000 + WARNED_SECONDS) {
        tracing::warn!(%certificate, "the certificate expires within 30 days; replace it in time");
    }
}

/// Returns whether the first certificate of a chain is not valid at a time, in seconds since 1970.
fn is_outside(chain: &[CertificateDer<'_>], at: u64) -> bool {
    let ([first, between @ ..], Some(last)) = (chain, chain.last()) else { return false };
    // The last certificate serves as its own trust anchor: this checks dates only, and clients decide whom they
    // trust.
    matches!(
        verified(first, between, last, at),
        Err(rustls::Error::InvalidCertificate(
            CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }
        ))
    )
}

/// Verifies a certificate as clients do that trust `root`, at a time in seconds since 1970. Its names are not checked.
fn verified(
    certificate: &CertificateDer<'_>,
    between: &[CertificateDer<'_>],
    root: &CertificateDer<'_>,
    at: u64,
) -> Result<(), rustls::Error> {
    let certificate = ParsedCertificate::try_from(certificate)?;
    let mut roots = RootCertStore::empty();
    roots.add(root.clone().into_owned())?;
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    let at = UnixTime::since_unix_epoch(Duration::from_secs(at));
    verify_server_cert_signed_by_trust_anchor(&certificate, &roots, between, at, algorithms.all)
}

fn warn_of_missing_names(chain_file: &Path, host_names: &[String]) {
    for name in missing_names(chain_file, host_names) {
        tracing::warn!(
            name,
            certificate = %chain_file.display(),
            "the certificate does not have this name, so clients that use the name will refuse the connection; replace it with \
             one that does, or remove {CHAIN_FILE}, {KEY_FILE} and {ROOT_FILE} so that all three are created again (clients \
             then need the new {ROOT_FILE})",
        );
    }
}

fn missing_names<'a>(chain_file: &Path, host_names: &'a [String]) -> Vec<&'a str> {
    // A certificate that cannot be read is reported when it is loaded.
    let Ok(der) = CertificateDer::from_pem_file(chain_file) else { return Vec::new() };
    if ParsedCertificate::try_from(&der).is_err() {
        return Vec::new();
    }
    let names = host_names.iter().map(String::as_str);
    names.filter(|name| !has_name(&der, name)).collect()
}

fn has_name(certificate: &CertificateDer<'_>, name: &str) -> bool {
    let (Ok(certificate), Ok(name)) = (ParsedCertificate::try_from(certificate), ServerName::try_from(name))
    else {
        return false;
    };
    verify_server_name(&certificate, &name).is_ok()
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// Writes a new file that only its owner can read. Fails if the file exists.
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
