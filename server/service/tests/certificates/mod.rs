//! Tests of a coordinator that requires client certificates.

mod authority;

use std::{fs, path::PathBuf};

use authority::{Authority, SERIAL};
use folkmoot_api::{AdminClient, Page, tokens::CreatedToken};
use folkmoot_client::{
    ClientCertificate, ClientKey, Host as Device, HttpSettings, Transport, TransportError,
};
use folkmoot_edge::tls::{ClientAuthority, Reload};
use folkmoot_protocol::{ErrorCode, Problem, headers, messages::CheckInRequest};
use folkmoot_rounds::clock::{system_chance, system_clock};
use folkmoot_service::host::{Host, HostConfig};
use tempfile::TempDir;

const VALID: i32 = 2099;
const EXPIRED: i32 = 2021;

/// A coordinator that requires certificates of an authority.
struct Running {
    host: Host,
    pem: Vec<u8>,
    authority: Authority,
    revocations: PathBuf,
    _folder: TempDir,
}

impl Running {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let [certificates, revocations] = ["clients.pem", "clients.crl"].map(|name| folder.path().join(name));
        fs::write(&certificates, &authority.pem).unwrap();
        fs::write(&revocations, authority.revoke(&[])).unwrap();
        let mut config = HostConfig::loopback(folder.path().join("data"));
        config.client_authority =
            Some(ClientAuthority { certificates, revocations: Some(revocations.clone()) });
        let host = Host::start(config, system_clock(), system_chance(), None).await.unwrap();
        let pem = fs::read(host.root_certificate.as_ref().unwrap()).unwrap();
        Self { host, pem, authority, revocations, _folder: folder }
    }

    fn admin(&self) -> AdminClient {
        let key = self.host.first_api_key.as_ref().unwrap();
        AdminClient::new(&self.host.url(), key, Some(self.pem.clone())).unwrap()
    }

    async fn token(&self) -> CreatedToken {
        self.admin().create_token("digits".parse().unwrap(), None, None).await.unwrap()
    }

    /// Returns a client with this key and certificate, and with connections of its own.
    fn client(&self, key: u8, client_certificate: Option<ClientCertificate>) -> Transport {
        let certificate_pem = Some(self.pem.clone());
        let settings = HttpSettings { certificate_pem, client_certificate, ..HttpSettings::default() };
        let device = Device::system().unwrap();
        Transport::new(&settings, &self.host.url(), ClientKey::from_secret([key; 32]), device).unwrap()
    }

    fn issue(&self, serial: u64, last_year: i32) -> ClientCertificate {
        self.authority.issue(None, serial, last_year)
    }
}

async fn check_in(client: &Transport) -> Result<(), TransportError> {
    let request = CheckInRequest {
        sdk_version: "test".into(),
        example_count: 10,
        attributes: Default::default(),
        codecs: Vec::new(),
    };
    client.check_in(&request, 0).await.map(drop)
}

#[track_caller]
fn code<T>(result: Result<T, TransportError>) -> Option<ErrorCode> {
    let Err(error) = result else { panic!("it was accepted") };
    error.code()
}

#[tokio::test]
async fn only_a_valid_certificate_of_the_authority_lets_a_client_in() {
    let running = Running::start().await;
    let CreatedToken { token, record } = running.token().await;
    let missing = running.client(1, None).enrol(&token).await;
    assert_eq!(code(missing), Some(ErrorCode::ClientCertificateMissing));
    // The handshake ends, so no answer has a code.
    for refused in [Authority::new().issue(None, SERIAL, VALID), running.issue(SERIAL, EXPIRED)] {
        let refused = running.client(1, Some(refused)).enrol(&token).await;
        assert!(matches!(refused, Err(TransportError::Network(_))), "{refused:?}");
    }
    let page = Page { limit: 1, before: None };
    assert!(running.admin().clients_of_token(&record.id, page).await.unwrap().is_empty());

    let client = running.client(1, Some(running.issue(SERIAL, VALID)));
    let id = client.enrol(&token).await.unwrap().client_id;
    client.set_client_id(id);
    check_in(&client).await.unwrap();
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn every_endpoint_of_devices_wants_a_certificate() {
    let running = Running::start().await;
    let settings = HttpSettings { certificate_pem: Some(running.pem.clone()), ..HttpSettings::default() };
    let http = folkmoot_client::build_http(&settings).unwrap();
    let of_assignment = "assignments/00000000-0000-0000-0000-000000000001";
    let update = format!("{of_assignment}/update");
    let secure = format!("{of_assignment}/secure");
    for (method, path, kind) in [
        ("POST", "check-in", "application/json"),
        ("GET", &*format!("blobs/{}", "0".repeat(64)), ""),
        ("GET", &*update, ""),
        ("PUT", &*update, "application/octet-stream"),
        ("GET", &*format!("{of_assignment}/ask"), ""),
        ("GET", &*format!("{secure}?after=keys"), ""),
        ("POST", &*secure, "application/json"),
        ("POST", &*format!("{of_assignment}/report"), "application/json"),
        ("POST", &*format!("{of_assignment}/abort"), "application/json"),
        ("GET", "model", ""),
        ("POST", "model/report", "application/json"),
        ("POST", "enrol", "application/json"),
    ] {
        let url = format!("{}/v1/{path}", running.host.url());
        let mut request = http
            .request(method.parse().unwrap(), url)
            .header(headers::SIGNATURE, "none")
            .header(headers::CONTENT_DIGEST, "0".repeat(64))
            .header(headers::UPLOAD_OFFSET, 0)
            .header(headers::UPLOAD_LENGTH, 1);
        if !kind.is_empty() {
            request = request.header("content-type", kind);
        }
        let problem: Problem = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(problem.code, ErrorCode::ClientCertificateMissing, "{method} {path}: {problem}");
    }
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_revoked_certificate_ends_on_open_and_on_new_connections() {
    let running = Running::start().await;
    let token = running.token().await.token;
    let (lost, kept) = (running.issue(7, VALID), running.issue(8, VALID));
    let [before, other] = [(1, lost.clone()), (2, kept)].map(|(key, own)| running.client(key, Some(own)));
    for client in [&before, &other] {
        client.set_client_id(client.enrol(&token).await.unwrap().client_id);
        check_in(client).await.unwrap();
    }
    assert_eq!(running.host.reload_client_authority().unwrap(), Some(Reload::Same));

    fs::write(&running.revocations, running.authority.revoke(&[7])).unwrap();
    check_in(&before).await.expect("the list was not read yet");
    assert_eq!(running.host.reload_client_authority().unwrap(), Some(Reload::Exchanged));
    assert_eq!(code(check_in(&before).await), Some(ErrorCode::ClientCertificateInvalid));
    let after = running.client(1, Some(lost));
    after.set_client_id(before.client_id().unwrap());
    let refused = check_in(&after).await;
    assert!(matches!(refused, Err(TransportError::Network(_))), "{refused:?}");
    check_in(&other).await.unwrap();

    fs::write(&running.revocations, "no list").unwrap();
    let error = running.host.reload_client_authority().unwrap_err().to_string();
    assert!(error.contains("clients.crl"), "{error}");
    assert_eq!(code(check_in(&before).await), Some(ErrorCode::ClientCertificateInvalid), "the list stays");
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_certificate_is_for_the_organisation_that_it_names() {
    let running = Running::start().await;
    let token = running.token().await.token;
    let of = |name: &str, serial| running.authority.issue(Some(name), serial, VALID);
    let [right, wrong] =
        [("default", 1), ("clinic", 2)].map(|(name, serial)| running.client(1, Some(of(name, serial))));
    assert_eq!(code(wrong.enrol(&token).await), Some(ErrorCode::ClientCertificateInvalid));
    let id = right.enrol(&token).await.unwrap().client_id;
    for client in [&right, &wrong] {
        client.set_client_id(id);
    }
    check_in(&right).await.unwrap();
    let Err(TransportError::Refused(problem)) = check_in(&wrong).await else { panic!("it was accepted") };
    assert_eq!(problem.code, ErrorCode::ClientCertificateInvalid);
    assert!(problem.detail.contains("`clinic`") && !problem.detail.contains("default"), "{problem}");
    running.host.stop().await.unwrap();
}
