use std::sync::Arc;

use folkmoot_protocol::ErrorCode;
use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber};

use super::*;

const NOW: Timestamp = Timestamp(1_700_000_000_000);
const YEAR: u64 = 365 * 86_400;

fn chain_of(folder: &Path) -> Vec<CertificateDer<'static>> {
    let file = folder.join(CHAIN_FILE);
    CertificateDer::pem_file_iter(file).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_certificate_that_is_there_stays_and_its_missing_names_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let first = ["a.example".to_owned()];
    ensure_authority(folder.path(), &first, NOW).unwrap();
    let chain = folder.path().join(CHAIN_FILE);
    let made = fs::read(&chain).unwrap();
    let names = ["a.example", "b.example", "10.0.0.7", "localhost", "127.0.0.1"].map(str::to_owned);
    assert_eq!(missing_names(&chain, &names), ["b.example", "10.0.0.7"]);
    ensure_authority(folder.path(), &names, NOW).unwrap();
    assert_eq!(fs::read(&chain).unwrap(), made);
    let der = CertificateDer::from_pem_file(&chain).unwrap();
    let certificate = ParsedCertificate::try_from(&der).unwrap();
    for name in LOOPBACK_NAMES {
        verify_server_name(&certificate, &ServerName::try_from(name).unwrap()).unwrap();
    }

    for name in [ROOT_FILE, CHAIN_FILE, KEY_FILE] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    ensure_authority(folder.path(), &names, NOW).unwrap();
    assert!(missing_names(&chain, &names).is_empty());
}

#[test]
fn a_part_of_the_files_is_refused_and_stays_as_it_is() {
    let all = [ROOT_FILE, CHAIN_FILE, KEY_FILE];
    // Every subset that is neither empty nor complete.
    for chosen in 1..7usize {
        let folder = tempfile::tempdir().unwrap();
        let there: Vec<&str> = (0..3).filter(|bit| chosen >> bit & 1 == 1).map(|bit| all[bit]).collect();
        for name in &there {
            fs::write(folder.path().join(name), format!("the operator's {name}")).unwrap();
        }
        let error = ensure_authority(folder.path(), &[], NOW).unwrap_err();
        assert!(matches!(error, TlsError::Partial { .. }), "{error}");
        assert!(error.to_string().contains("server.certificate and server.key"), "{error}");
        for name in &there {
            let kept = fs::read_to_string(folder.path().join(name)).unwrap();
            assert_eq!(kept, format!("the operator's {name}"));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), there.len());
    }
}

#[test]
fn a_certificate_is_valid_for_ten_years() {
    let folder = tempfile::tempdir().unwrap();
    ensure_authority(folder.path(), &[], NOW).unwrap();
    let (chain, now) = (chain_of(folder.path()), NOW.0 / 1000);
    let root: Vec<_> =
        CertificateDer::pem_file_iter(folder.path().join(ROOT_FILE)).unwrap().flatten().collect();
    let both = [chain, root].concat();
    assert!(!is_outside(&both, now) && !is_outside(&both, now + 9 * YEAR));
    assert!(is_outside(&both, now - 3 * 86_400) && is_outside(&both, now + 11 * YEAR));
}

#[test]
fn a_new_certificate_is_served_after_it_is_read_again() {
    let [old, new] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for folder in [&old, &new] {
        ensure_authority(folder.path(), &[], NOW).unwrap();
    }
    let files = CertificateFiles::own(old.path());
    let live = LiveCertificate::load(files.clone(), None, NOW).unwrap();
    assert_eq!(live.reload(NOW).unwrap(), Reload::Same);
    let before = live.served().get_inner();

    // A certificate without its key is not usable, so the previous one stays in use.
    fs::copy(new.path().join(CHAIN_FILE), &files.chain).unwrap();
    assert!(live.reload(NOW).is_err());
    assert!(Arc::ptr_eq(&before, &live.served().get_inner()));
    assert_eq!(live.reload_clients().unwrap(), None);

    fs::copy(new.path().join(KEY_FILE), &files.key).unwrap();
    assert_eq!(live.reload(NOW).unwrap(), Reload::Exchanged);
    assert!(!Arc::ptr_eq(&before, &live.served().get_inner()));
}

#[cfg(unix)]
#[test]
fn what_is_made_is_its_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    ensure_authority(folder.path(), &[], NOW).unwrap();
    for name in [ROOT_FILE, CHAIN_FILE, KEY_FILE] {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// Creates an authority of clients in `folder`, and a certificate of it for these organisations, valid from 2020 to 2029.
fn client_of(folder: &Path, organisations: &[&str]) -> (ClientAuthority, Vec<CertificateDer<'static>>) {
    let key = KeyPair::generate().unwrap();
    let mut root = CertificateParams::default();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificates = folder.join("clients.pem");
    fs::write(&certificates, root.self_signed(&key).unwrap().pem()).unwrap();
    let mut client = CertificateParams::default();
    client.not_before = rcgen::date_time_ymd(2020, 1, 1);
    client.not_after = rcgen::date_time_ymd(2029, 12, 31);
    client.distinguished_name = named("clinic-1");
    for organisation in organisations {
        client.distinguished_name.push(DnType::OrganizationName, *organisation);
    }
    let client = client.signed_by(&KeyPair::generate().unwrap(), &Issuer::from_params(&root, &key)).unwrap();
    (ClientAuthority { certificates, revocations: None }, vec![client.der().clone()])
}

fn presented_by(live: &LiveCertificate, presented: &[CertificateDer<'static>]) -> ClientCertificate {
    ClientCertificate::new(live.clone(), [192, 0, 2, 1].into(), presented.to_vec())
}

/// Checks the certificate that a client has presented.
fn checked(
    live: &LiveCertificate,
    presented: &[CertificateDer<'static>],
    times: &[Timestamp],
) -> Vec<Result<Vec<String>, ErrorCode>> {
    let mut extensions = axum::http::Extensions::new();
    extensions.insert(Arc::new(presented_by(live, presented)));
    let check = |now: &Timestamp| match certificate_of(&extensions, *now) {
        Ok(organisations) => Ok(organisations.to_vec()),
        Err(problem) => Err(problem.code.known().unwrap()),
    };
    times.iter().map(check).collect()
}

#[test]
fn a_client_certificate_is_judged_while_its_connection_is_open() {
    use ErrorCode::{ClientCertificateInvalid, ClientCertificateMissing};
    let folder = tempfile::tempdir().unwrap();
    ensure_authority(folder.path(), &[], NOW).unwrap();
    let (authority, client) = client_of(folder.path(), &["Clinic Süd"]);
    let live = LiveCertificate::load(CertificateFiles::own(folder.path()), Some(authority), NOW).unwrap();
    let config = live.served().get_inner();
    assert!(!config.session_storage.can_cache(), "a resumed session would not be judged");

    let later = NOW.plus_seconds(10 * 365 * 86_400);
    let named = vec!["Clinic Süd".to_owned()];
    assert_eq!(checked(&live, &client, &[NOW, later]), [Ok(named.clone()), Err(ClientCertificateInvalid)]);
    assert_eq!(checked(&live, &[], &[NOW]), [Err(ClientCertificateMissing)]);
    let (_, nameless) = client_of(tempfile::tempdir().unwrap().path(), &[]);
    assert_eq!(checked(&live, &nameless, &[NOW]), [Err(ClientCertificateInvalid)], "of another authority");
    assert_eq!(certificate_of(&axum::http::Extensions::new(), NOW).unwrap(), [] as [String; 0]);

    // Another authority takes effect on open connections.
    let mut extensions = axum::http::Extensions::new();
    extensions.insert(Arc::new(presented_by(&live, &client)));
    assert_eq!(certificate_of(&extensions, NOW).unwrap(), named);
    client_of(folder.path(), &[]);
    assert_eq!(live.reload_clients().unwrap(), Some(Reload::Exchanged));
    assert_eq!(certificate_of(&extensions, NOW).unwrap_err().code, ClientCertificateInvalid);
}

#[test]
fn an_empty_file_of_an_authority_or_a_list_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    ensure_authority(folder.path(), &[], NOW).unwrap();
    let (mut authority, _) = client_of(folder.path(), &[]);
    let load = |authority: &ClientAuthority| {
        LiveCertificate::load(CertificateFiles::own(folder.path()), Some(authority.clone()), NOW).map(drop)
    };
    load(&authority).unwrap();
    authority.revocations = Some(folder.path().join("clients.crl"));
    assert!(matches!(load(&authority), Err(TlsError::File { .. })));
    fs::write(folder.path().join("clients.crl"), "").unwrap();
    assert!(
        matches!(load(&authority), Err(TlsError::Revocations { path, .. }) if path.ends_with("clients.crl"))
    );
    fs::write(&authority.certificates, "").unwrap();
    authority.revocations = None;
    assert!(
        matches!(load(&authority), Err(TlsError::Unusable { path, .. }) if path.ends_with("clients.pem"))
    );
}

/// An authority of clients that lists revocations.
struct Lister(Issuer<'static, KeyPair>, String);

impl Lister {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut root = CertificateParams::default();
        root.distinguished_name = named(name);
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        root.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let pem = root.self_signed(&key).unwrap().pem();
        Self(Issuer::new(root, key), pem)
    }

    /// Issues a certificate with this serial number.
    fn issue(&self, serial: u64) -> Vec<CertificateDer<'static>> {
        let mut client = CertificateParams::default();
        client.serial_number = Some(SerialNumber::from(serial));
        vec![client.signed_by(&KeyPair::generate().unwrap(), &self.0).unwrap().der().clone()]
    }

    /// Lists these serial numbers as revoked.
    fn list(&self, serials: &[u64]) -> String {
        let date = rcgen::date_time_ymd(2020, 1, 1);
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date,
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date,
            next_update: rcgen::date_time_ymd(2029, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.0).unwrap().pem().unwrap()
    }
}

/// Writes the certificates and the lists of an authority of clients to `folder`.
fn write_authority(folder: &Path, certificates: &[&str], lists: &[String]) -> ClientAuthority {
    let authority = ClientAuthority {
        certificates: folder.join("clients.pem"),
        revocations: Some(folder.join("clients.crl")),
    };
    fs::write(&authority.certificates, certificates.concat()).unwrap();
    fs::write(folder.join("clients.crl"), lists.concat()).unwrap();
    authority
}

/// Otherwise a mistake in one file would keep a lost device in, or an expired certificate in use.
#[test]
fn a_broken_key_does_not_keep_a_revocation_out_nor_a_broken_list_a_new_certificate() {
    let [folder, new] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for folder in [&folder, &new] {
        ensure_authority(folder.path(), &[], NOW).unwrap();
    }
    let lister = Lister::new("Clinics");
    let write = |serials| write_authority(folder.path(), &[&lister.1], &[lister.list(serials)]);
    let files = CertificateFiles::own(folder.path());
    let live = LiveCertificate::load(files.clone(), Some(write(&[])), NOW).unwrap();
    let client = lister.issue(7);
    assert_eq!(checked(&live, &client, &[NOW]), [Ok(Vec::new())]);

    fs::write(&files.key, "half").unwrap();
    write(&[7]);
    assert!(live.reload(NOW).is_err());
    assert_eq!(live.reload_clients().unwrap(), Some(Reload::Exchanged));
    assert_eq!(checked(&live, &client, &[NOW]), [Err(ErrorCode::ClientCertificateInvalid)]);

    let before = live.served().get_inner();
    fs::write(folder.path().join("clients.crl"), "half").unwrap();
    for name in [CHAIN_FILE, KEY_FILE] {
        fs::copy(new.path().join(name), folder.path().join(name)).unwrap();
    }
    assert!(live.reload_clients().is_err());
    assert_eq!(live.reload(NOW).unwrap(), Reload::Exchanged);
    assert!(!Arc::ptr_eq(&before, &live.served().get_inner()));
    assert_eq!(checked(&live, &client, &[NOW]), [Err(ErrorCode::ClientCertificateInvalid)]);
}

#[test]
fn each_authority_of_clients_needs_exactly_one_list() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["Clinics", "Banks"].map(Lister::new);
    let refused = |certificates: &[&str], lists: &[String]| {
        let authority = write_authority(folder.path(), certificates, lists);
        inspect_clients(&authority).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let both = [&*one.1, &*other.1];
    assert_eq!(refused(&both, &[other.list(&[]), one.list(&[7])]), "");
    let twice = refused(&both, &[other.list(&[]), one.list(&[]), one.list(&[7])]);
    assert!(twice.contains("clients.crl") && twice.contains("the same issuer"), "{twice}");
    let without = refused(&both, &[one.list(&[])]);
    assert!(without.contains("clients.crl") && without.contains("has no list"), "{without}");
    // A list of an intermediate authority, whose certificate is not in the file.
    assert_eq!(refused(&both[..1], &[one.list(&[]), other.list(&[])]), "");
}
