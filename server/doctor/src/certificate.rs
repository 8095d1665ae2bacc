use std::{io, path::Path};

use folkmoot_client::pins_of;
use folkmoot_edge::tls::{
    CertificateFiles, ROOT_FILE, Validity, WARNED_SECONDS, has_authority, inspect, inspect_clients,
    is_issued_by, validity,
};
use folkmoot_protocol::Timestamp;
use folkmoot_service::host::HostConfig;

use crate::finding::{Finding, all_skipped};
use folkmoot_terminal::moment;

const CERTIFICATE: &str = "certificate";
const NAMES: &str = "certificate_names";
const KEY: &str = "certificate_key";
const PIN: &str = "certificate_pin";
const AUTHORITY: &str = "authority";
const CLIENTS: &str = "client_authority";
/// The checks of the coordinator's own certificate.
const OWN: [&str; 5] = [CERTIFICATE, NAMES, KEY, PIN, AUTHORITY];
pub const CHECKS: [&str; 6] = [CERTIFICATE, NAMES, KEY, PIN, AUTHORITY, CLIENTS];

/// The remedy for a certificate of the coordinator's own authority.
const CREATE_AGAIN: &str = "move ca.pem, server.pem and server.key out of the data folder, so that `folkmoot serve` creates new \
                            ones; clients then need the new ca.pem";

/// Checks the certificate that the coordinator serves, its names, its key's file and its authority, and the authority of
/// client certificates.
pub fn check(config: &HostConfig, now: Timestamp) -> Vec<Finding> {
    if !config.has_tls {
        return all_skipped(&CHECKS, "server.tls is off: a proxy serves TLS.").collect();
    }
    let mut findings = match &config.certificate {
        Some(files) => {
            let remedy = "replace the file by a new one from your certificate authority, and send SIGHUP to the coordinator";
            let mut findings = check_files(files, &config.host_names, remedy, now);
            findings.push(Finding::skipped(AUTHORITY, "The certificate is your own."));
            findings
        }
        None => check_own(config, now),
    };
    findings.push(clients(config, now));
    findings
}

/// Checks the files of the coordinator's own authority.
fn check_own(config: &HostConfig, now: Timestamp) -> Vec<Finding> {
    match has_authority(&config.data) {
        Ok(true) => {
            let files = CertificateFiles::own(&config.data);
            let mut findings = check_files(&files, &config.host_names, CREATE_AGAIN, now);
            findings.push(authority(&config.data.join(ROOT_FILE), &files.chain, now));
            findings
        }
        Ok(false) => all_skipped(&OWN, "There is no certificate yet; `folkmoot serve` creates it.").collect(),
        Err(error) => {
            let remedy = "restore the missing files, or name your own certificate in the settings";
            let partial = Finding::failed(CERTIFICATE, format!("{error}."), remedy);
            let others = all_skipped(&OWN[1..], "The certificate is incomplete.");
            [partial].into_iter().chain(others).collect()
        }
    }
}

fn check_files(
    files: &CertificateFiles,
    host_names: &[String],
    remedy: &str,
    now: Timestamp,
) -> Vec<Finding> {
    let [certificate, names] = match inspect(files, host_names, now) {
        Ok(inspection) => [
            dates(CERTIFICATE, &files.chain, inspection.validity, remedy, now),
            names(&inspection.missing_names, host_names, remedy),
        ],
        Err(error) => [
            Finding::failed(
                CERTIFICATE,
                format!("{error}."),
                "name a certificate chain and its own private key, as PEM files that the coordinator's user can read",
            ),
            Finding::skipped(NAMES, "The certificate cannot be used."),
        ],
    };
    vec![certificate, names, key(&files.key, mode_of(&files.key)), pin(&files.chain)]
}

/// Shows the pin of the coordinator's key.
fn pin(chain: &Path) -> Finding {
    let pins = std::fs::read(chain).ok().and_then(|pem| pins_of(&pem).ok());
    match pins.as_deref() {
        Some([pin, ..]) => Finding::ok(PIN, format!("Clients can pin the key of the certificate: {pin}.")),
        _ => Finding::skipped(PIN, "The certificate cannot be used."),
    }
}

/// Checks the authority that issues the certificates of clients, and the list of revoked ones.
fn clients(config: &HostConfig, now: Timestamp) -> Finding {
    let Some(authority) = &config.client_authority else {
        return Finding::skipped(
            CLIENTS,
            "server.client_authority is not set, so clients need no certificate.",
        );
    };
    let remedy = "name the certificates of the authority, and its CRLs, as PEM files that the coordinator's user can read";
    match inspect_clients(authority) {
        Ok(validity) => dates(CLIENTS, &authority.certificates, validity, remedy, now),
        Err(error) => Finding::failed(CLIENTS, format!("{error}."), remedy),
    }
}

/// Judges the time in which a certificate is valid.
fn dates(check: &'static str, file: &Path, validity: Validity, remedy: &str, now: Timestamp) -> Finding {
    let file = file.display();
    let so = if check == CLIENTS {
        "but the coordinator still accepts the certificates that it has issued"
    } else {
        "so clients refuse it"
    };
    let Validity { from, until } = validity;
    if until < now {
        let message = format!("{file} expired on {}, {so}.", moment(until));
        return Finding::failed(check, message, remedy);
    }
    if from > now {
        let message = format!("{file} is valid only from {}, {so}.", moment(from));
        return Finding::failed(check, message, "set the machine's clock, or wait until this time");
    }
    if until < now.plus_seconds(WARNED_SECONDS) {
        return Finding::warning(check, format!("{file} expires on {}.", moment(until)), remedy);
    }
    Finding::ok(check, format!("{file} is valid until {}.", moment(until)))
}

fn names(missing: &[String], host_names: &[String], remedy: &str) -> Finding {
    if !missing.is_empty() {
        let message = format!(
            "The certificate lacks names of server.host_names, so clients that use them refuse it: {}.",
            missing.join(", ")
        );
        return Finding::warning(NAMES, message, remedy);
    }
    match host_names {
        [] => Finding::ok(NAMES, "server.host_names is empty, so the certificate needs no further names."),
        names => Finding::ok(
            NAMES,
            format!("The certificate has all names of server.host_names: {}.", names.join(", ")),
        ),
    }
}

#[cfg(unix)]
fn mode_of(file: &Path) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).map(|metadata| Some(metadata.permissions().mode() & 0o777))
}

#[cfg(not(unix))]
fn mode_of(file: &Path) -> io::Result<Option<u32>> {
    std::fs::metadata(file).map(|_| None)
}

/// Judges the mode of the private key's file. A group may be meant, other users are not.
fn key(file: &Path, mode: io::Result<Option<u32>>) -> Finding {
    let name = file.display();
    let remedy = || format!("run: chmod 600 {name}");
    match mode {
        Ok(None) => Finding::skipped(KEY, "The system has no file modes."),
        Ok(Some(mode)) if mode & 0o007 != 0 => {
            let message = format!(
                "The mode of the private key {name} lets every user of this machine access it: {mode:03o}."
            );
            Finding::failed(KEY, message, remedy())
        }
        Ok(Some(mode)) if mode & 0o070 != 0 => {
            let message = format!("The mode of the private key {name} lets its group access it: {mode:03o}.");
            Finding::warning(KEY, message, remedy())
        }
        Ok(Some(_)) => Finding::ok(KEY, format!("Only its owner can access the private key {name}.")),
        Err(error) => {
            let message = format!("The private key {name} cannot be read: {error}.");
            Finding::failed(KEY, message, "name an existing file that the coordinator's user can read")
        }
    }
}

/// Checks the root certificate that clients trust.
fn authority(root: &Path, chain: &Path, now: Timestamp) -> Finding {
    let checked = validity(root).and_then(|validity| Ok((validity, is_issued_by(chain, root)?)));
    match checked {
        Ok((_, false)) => {
            let message =
                format!("{} has not issued {}, so clients refuse it.", root.display(), chain.display());
            Finding::failed(AUTHORITY, message, CREATE_AGAIN)
        }
        Ok((validity, true)) => dates(AUTHORITY, root, validity, CREATE_AGAIN, now),
        Err(error) => Finding::failed(AUTHORITY, format!("{error}."), CREATE_AGAIN),
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_edge::tls::{ClientAuthority, ensure_authority};

    use super::*;
    use crate::finding::Verdict;

    const NOW: Timestamp = Timestamp(1_769_862_600_000);
    const DAY: u64 = 86_400;

    fn verdicts(findings: &[Finding]) -> Vec<Verdict> {
        findings.iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn a_certificate_is_warned_of_for_30_days() {
        let verdict = |now| {
            let validity = Validity { from: NOW, until: NOW.plus_seconds(100 * DAY) };
            dates(CERTIFICATE, Path::new("a.pem"), validity, "replace it", now).verdict
        };
        assert_eq!(verdict(Timestamp(NOW.0 - 1)), Verdict::Failed);
        assert_eq!(verdict(NOW), Verdict::Ok);
        assert_eq!(verdict(NOW.plus_seconds(70 * DAY)), Verdict::Ok);
        assert_eq!(verdict(NOW.plus_seconds(70 * DAY + 1)), Verdict::Warning);
        assert_eq!(verdict(NOW.plus_seconds(100 * DAY)), Verdict::Warning);
        assert_eq!(verdict(NOW.plus_seconds(100 * DAY + 1)), Verdict::Failed);
    }

    #[test]
    fn a_key_is_its_owners() {
        let verdict = |mode| key(Path::new("a.key"), Ok(Some(mode))).verdict;
        assert_eq!(verdict(0o600), Verdict::Ok);
        assert_eq!(verdict(0o640), Verdict::Warning);
        assert_eq!(verdict(0o604), Verdict::Failed);
        assert_eq!(key(Path::new("a.key"), Ok(None)).verdict, Verdict::Skipped);
        let gone = key(Path::new("a.key"), Err(io::ErrorKind::NotFound.into()));
        assert_eq!(gone.verdict, Verdict::Failed);
    }

    #[test]
    fn an_own_certificate_is_complete_or_incomplete_or_of_another_authority() {
        use Verdict::{Failed, Ok, Skipped, Warning};
        let [folder, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let mut config = HostConfig::loopback(folder.path().to_owned());
        assert_eq!(verdicts(&check(&config, NOW)), [Skipped; 6]);
        for folder in [&folder, &other] {
            ensure_authority(folder.path(), &["a.example".to_owned()], NOW).unwrap();
        }
        config.host_names = vec!["a.example".into()];
        assert_eq!(verdicts(&check(&config, NOW)), [Ok, Ok, Ok, Ok, Ok, Skipped]);
        config.host_names.push("b.example".into());
        assert_eq!(verdicts(&check(&config, NOW)), [Ok, Warning, Ok, Ok, Ok, Skipped]);
        let later = NOW.plus_seconds(11 * 366 * DAY);
        assert_eq!(verdicts(&check(&config, later)), [Failed, Warning, Ok, Ok, Failed, Skipped]);

        std::fs::copy(other.path().join(ROOT_FILE), folder.path().join(ROOT_FILE)).unwrap();
        assert_eq!(verdicts(&check(&config, NOW)), [Ok, Warning, Ok, Ok, Failed, Skipped]);
        std::fs::remove_file(folder.path().join(ROOT_FILE)).unwrap();
        assert_eq!(verdicts(&check(&config, NOW)), [Failed, Skipped, Skipped, Skipped, Skipped, Skipped]);
        config.has_tls = false;
        assert_eq!(verdicts(&check(&config, NOW)), [Skipped; 6]);
    }

    #[test]
    fn the_pin_of_the_key_and_the_authority_of_clients_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        ensure_authority(folder.path(), &[], NOW).unwrap();
        let mut config = HostConfig::loopback(folder.path().to_owned());
        let revocations = folder.path().join("clients.crl");
        let certificates = folder.path().join(ROOT_FILE);
        config.client_authority = Some(ClientAuthority { certificates, revocations: None });
        let findings = check(&config, NOW);
        let pem = std::fs::read(CertificateFiles::own(folder.path()).chain).unwrap();
        assert!(findings[3].message.ends_with(&format!(": {}.", pins_of(&pem).unwrap()[0])), "{findings:?}");
        assert_eq!(findings[5].verdict, Verdict::Ok);
        let expired = check(&config, NOW.plus_seconds(11 * 366 * DAY));
        assert_eq!(expired[5].verdict, Verdict::Failed);
        assert!(expired[5].message.contains("the coordinator still accepts"), "{expired:?}");

        std::fs::write(&revocations, "no list").unwrap();
        config.client_authority.as_mut().unwrap().revocations = Some(revocations);
        let findings = check(&config, NOW);
        assert_eq!(findings[5].verdict, Verdict::Failed);
        assert!(
            findings[5].message.contains("revocation list") && findings[5].message.contains("clients.crl")
        );
    }

    #[test]
    fn a_key_of_another_certificate_is_found() {
        let [folder, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for folder in [&folder, &other] {
            ensure_authority(folder.path(), &[], NOW).unwrap();
        }
        let mut config = HostConfig::loopback(folder.path().to_owned());
        let chain = CertificateFiles::own(folder.path()).chain;
        config.certificate = Some(CertificateFiles { chain, key: CertificateFiles::own(other.path()).key });
        let findings = check(&config, NOW);
        use Verdict::{Failed, Ok, Skipped};
        assert_eq!(verdicts(&findings), [Failed, Skipped, Ok, Ok, Skipped, Skipped]);
        assert!(findings[0].message.contains("server.pem"), "{findings:?}");
    }
}
