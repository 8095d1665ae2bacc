//! The facts about certificate files that tell whether clients will accept them. Nothing is changed.

use std::path::Path;

use folkmoot_protocol::Timestamp;
use rustls::{
    CertificateError,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::{CertificateFiles, ClientAuthority, TlsError, has_name, live::Own, read, unusable, verified};

/// The time in which certificates are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first moment.
    pub from: Timestamp,
    /// The last moment.
    pub until: Timestamp,
}

/// A certificate chain with its key, as the coordinator would serve it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The time in which every certificate of the chain is valid.
    pub validity: Validity,
    /// The host names that the certificate lacks.
    pub missing_names: Vec<String>,
}

/// Reads a certificate chain and its key as the coordinator does when it starts.
///
/// # Errors
/// Fails if a file cannot be read, contains no usable certificate or key, or the key does not match the certificate.
pub fn inspect(
    files: &CertificateFiles,
    host_names: &[String],
    now: Timestamp,
) -> Result<Inspection, TlsError> {
    Own::load(files, now)?;
    let chain = certificates(&files.chain)?;
    let lacks = |name: &&String| !chain.first().is_some_and(|leaf| has_name(leaf, name));
    Ok(Inspection {
        validity: common_validity(&files.chain, &chain)?,
        missing_names: host_names.iter().filter(lacks).cloned().collect(),
    })
}

/// Reads the authority of client certificates as the coordinator does when it starts. Returns the time in which all of
/// its certificates are valid.
///
/// # Errors
/// Fails if a file cannot be read, or contains no usable certificate or list.
pub fn inspect_clients(authority: &ClientAuthority) -> Result<Validity, TlsError> {
    authority.verifier(&authority.read()?)?;
    validity(&authority.certificates)
}

/// Returns the time in which every certificate of a PEM file is valid.
///
/// # Errors
/// Fails if the file cannot be read, or contains no usable certificate.
pub fn validity(path: &Path) -> Result<Validity, TlsError> {
    common_validity(path, &certificates(path)?)
}

/// Returns whether clients that trust the certificate in `root` trust the chain. Dates are not checked.
///
/// # Errors
/// Fails if a file cannot be read, or contains no usable certificate.
pub fn is_issued_by(chain: &Path, root: &Path) -> Result<bool, TlsError> {
    let (chain_certificates, roots) = (certificates(chain)?, certificates(root)?);
    let all = [chain_certificates.as_slice(), roots.as_slice()].concat();
    // At this moment all of them are valid, unless there is none.
    let at = common_validity(chain, &all)?.from.0 / 1000;
    let ([leaf, between @ ..], [root, ..]) = (chain_certificates.as_slice(), roots.as_slice()) else {
        return Ok(false);
    };
    Ok(match verified(leaf, between, root, at) {
        Ok(()) => true,
        Err(error) => date_of(&error).is_some(),
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_slice_iter(&read(path)?).collect::<Result<Vec<_>, _>>();
    let certificates = found.map_err(|error| unusable(path, error))?;
    if certificates.is_empty() { Err(unusable(path, "it has no certificate")) } else { Ok(certificates) }
}

fn common_validity(path: &Path, chain: &[CertificateDer<'_>]) -> Result<Validity, TlsError> {
    let mut common = Validity { from: Timestamp(0), until: Timestamp(u64::MAX) };
    for certificate in chain {
        let unknown = || unusable(path, "its dates cannot be read");
        let one = validity_of(certificate).ok_or_else(unknown)?;
        common = Validity { from: common.from.max(one.from), until: common.until.min(one.until) };
    }
    Ok(common)
}

/// Finds the dates of a certificate by verifying it long before and long after them: the refusals name the dates.
fn validity_of(certificate: &CertificateDer<'_>) -> Option<Validity> {
    let date = |at: u64| date_of(&verified(certificate, &[], certificate, at).err()?);
    let milliseconds = |seconds: u64| Timestamp(seconds.saturating_mul(1000));
    // Verification at time 0 succeeds if the certificate was valid in 1970 already. It then counts as valid from 1970.
    Some(Validity { from: milliseconds(date(0).unwrap_or(0)), until: milliseconds(date(u64::MAX)?) })
}

/// Returns the date, in seconds since 1970, that a certificate was refused for.
fn date_of(error: &rustls::Error) -> Option<u64> {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }) => {
            Some(not_after.as_secs())
        }
        rustls::Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. }) => {
            Some(not_before.as_secs())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        super::{ROOT_FILE, ensure_authority},
        *,
    };

    const NOW: Timestamp = Timestamp(1_700_000_000_000);
    const DAY: u64 = 86_400_000;

    #[test]
    fn an_own_certificate_has_its_dates_names_and_authority() {
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for folder in [&one, &other] {
            ensure_authority(folder.path(), &["a.example".to_owned()], NOW).unwrap();
        }
        let files = CertificateFiles::own(one.path());
        let names = ["a.example", "b.example", "localhost"].map(str::to_owned);
        let inspection = inspect(&files, &names, NOW).unwrap();
        assert_eq!(inspection.missing_names, ["b.example"]);
        let Validity { from, until } = inspection.validity;
        assert!(from < NOW && NOW.0 - from.0 < 3 * DAY, "{from:?}");
        // The last day of a month is rounded down.
        let ten_years = until.0 - NOW.0;
        assert!((3_648 * DAY..3_654 * DAY).contains(&ten_years), "{until:?}");
        assert_eq!(validity(&one.path().join(ROOT_FILE)).unwrap(), inspection.validity);

        assert!(is_issued_by(&files.chain, &one.path().join(ROOT_FILE)).unwrap());
        assert!(!is_issued_by(&files.chain, &other.path().join(ROOT_FILE)).unwrap());
        let mixed = CertificateFiles { key: CertificateFiles::own(other.path()).key, ..files };
        assert!(matches!(inspect(&mixed, &[], NOW), Err(TlsError::Unusable { .. })));
    }

    #[test]
    fn a_file_without_a_certificate_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("own.pem");
        assert!(matches!(validity(&file), Err(TlsError::File { .. })));
        fs::write(&file, "no certificate").unwrap();
        let error = validity(&file).unwrap_err().to_string();
        assert!(error.contains("own.pem") && error.contains("no certificate"), "{error}");
    }
}
