//! The coordinator's own TLS authority: a root that clients are given, and a certificate that it signs.

use std::{collections::BTreeSet, fs, io, path::Path};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{
    ServerConfig,
    client::verify_server_name,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
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

/// Makes the authority and the server's certificate in `folder`, unless they are there. A certificate that is there stays,
/// with a warning if it does not have a name.
///
/// The authority's own key is not kept: it signs one certificate and is forgotten, so nobody can steal it.
///
/// # Errors
/// If a file cannot be written.
pub fn ensure_authority(folder: &Path, host_names: &[String]) -> Result<(), TlsError> {
    let files = [ROOT_FILE, CHAIN_FILE, KEY_FILE].map(|name| folder.join(name));
    if files.iter().all(|file| file.exists()) {
        warn_of_missing_names(&files[1], host_names);
        return Ok(());
    }
    let root_key = KeyPair::generate()?;
    let mut root = CertificateParams::new(Vec::new())?;
    root.distinguished_name = named("Folkmoot coordinator authority");
    root.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    root.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let root_certificate = root.self_signed(&root_key)?;
    let key = KeyPair::generate()?;
    let names: BTreeSet<String> =
        LOOPBACK_NAMES.iter().map(ToString::to_string).chain(host_names.iter().cloned()).collect();
    let mut server = CertificateParams::new(names.into_iter().collect::<Vec<_>>())?;
    server.distinguished_name = named("Folkmoot coordinator");
    let certificate = server.signed_by(&key, &Issuer::from_params(&root, &root_key))?;
    let [root_file, chain_file, key_file] = files;
    write(&key_file, &key.serialize_pem(), true)?;
    write(&chain_file, &certificate.pem(), false)?;
    write(&root_file, &root_certificate.pem(), false)
}

/// Reads a certificate chain and its key into a server's configuration: TLS 1.3 only, HTTP/2 and HTTP/1.1.
///
/// # Errors
/// If a file cannot be read or the two do not belong together.
pub fn server_config(folder: &Path) -> Result<ServerConfig, TlsError> {
    let (chain_file, key_file) = (folder.join(CHAIN_FILE), folder.join(KEY_FILE));
    let unusable = |path: &Path, detail: &dyn ToString| TlsError::Unusable {
        path: path.display().to_string(),
        detail: detail.to_string(),
    };
    let chain = CertificateDer::pem_file_iter(&chain_file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(&chain_file, &error))?;
    let key = PrivateKeyDer::from_pem_file(&key_file).map_err(|error| unusable(&key_file, &error))?;
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring's provider knows TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| unusable(&chain_file, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn warn_of_missing_names(chain_file: &Path, host_names: &[String]) {
    for name in missing_names(chain_file, host_names) {
        tracing::warn!(
            name,
            certificate = %chain_file.display(),
            "the certificate does not have this name, so clients that use it will refuse the connection; put one in \
             place that has it, or remove {CHAIN_FILE} to have all made anew (clients then need the new {ROOT_FILE})",
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

fn write(path: &Path, text: &str, is_secret: bool) -> Result<(), TlsError> {
    let failed = |source| TlsError::File { path: path.display().to_string(), source };
    #[cfg(unix)]
    if is_secret {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = fs::OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(0o600).open(path).map_err(failed)?;
        return io::Write::write_all(&mut file, text.as_bytes()).map_err(failed);
    }
    fs::write(path, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_there_stays_and_its_missing_names_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let first = ["a.example".to_owned()];
        ensure_authority(folder.path(), &first).unwrap();
        let chain = folder.path().join(CHAIN_FILE);
        let made = fs::read(&chain).unwrap();
        let names = ["a.example", "b.example", "10.0.0.7", "localhost", "127.0.0.1"].map(str::to_owned);
        assert_eq!(missing_names(&chain, &names), ["b.example", "10.0.0.7"]);
        ensure_authority(folder.path(), &names).unwrap();
        assert_eq!(fs::read(&chain).unwrap(), made);
        let der = CertificateDer::from_pem_file(&chain).unwrap();
        let certificate = ParsedCertificate::try_from(&der).unwrap();
        for name in LOOPBACK_NAMES {
            verify_server_name(&certificate, &ServerName::try_from(name).unwrap()).unwrap();
        }

        fs::remove_file(&chain).unwrap();
        ensure_authority(folder.path(), &names).unwrap();
        assert!(missing_names(&chain, &names).is_empty());
    }
}
