//! Load tests of a coordinator in this process, over real sockets.

use folkmoot_api::{AdminClient, client::Page, tasks::TaskSummary};
use folkmoot_protocol::{PopulationName, messages::CheckInResponse};
use folkmoot_rounds::clock;
use folkmoot_service::host::{Host, HostConfig};
use tokio::{net::TcpSocket, sync::watch};

use crate::{
    Kind, LoadError, Rate, Report, Screen, Settings,
    devices::{Target, enrol_each},
    measure, page,
    rehearsal::Rehearsal,
    slow_body::Manner,
    update::{Schemas, download, offer, upload},
};

struct Running {
    host: Host,
    target: Target,
    _folder: tempfile::TempDir,
}

async fn coordinator() -> Running {
    let folder = tempfile::tempdir().unwrap();
    let config = HostConfig::loopback(folder.path().to_owned());
    let host = Host::start(config, clock::system_clock(), clock::system_chance(), None).await.unwrap();
    let pem = std::fs::read(host.root_certificate.as_ref().unwrap()).unwrap();
    let target = Target::new(&host.url(), Some(pem), false).unwrap();
    Running { host, target, _folder: folder }
}

impl Running {
    fn api_key(&self) -> &str {
        self.host.first_api_key.as_deref().unwrap()
    }

    fn admin(&self) -> AdminClient {
        let pem = self.target.certificate_pem().map(<[u8]>::to_vec);
        AdminClient::new(self.target.url(), self.api_key(), pem).unwrap()
    }

    async fn tasks(&self) -> Vec<TaskSummary> {
        self.admin().tasks(Page { limit: 10, before: None }).await.unwrap()
    }
}

/// Two devices wait, and eight check in 80 times in one second.
fn small() -> Settings {
    Settings::new(10, 2, Rate::PerSecond(80))
}

/// Runs a test as an operator does, up to the clean-up.
async fn rehearse(running: &Running, settings: &Settings) -> Report {
    let rehearsal = Rehearsal::begin(&running.target, running.api_key(), settings).await.unwrap();
    let (_stop, stopped) = watch::channel(false);
    let report = measure(&running.target, &rehearsal.token, settings, stopped, Screen::Silent, &mut |_| {})
        .await
        .unwrap();
    rehearsal.end().await.unwrap();
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn every_check_in_is_answered_or_reported_as_unsent() {
    let running = coordinator().await;
    let report = rehearse(&running, &small()).await;
    assert_eq!((report.enrolled, report.of(Kind::Enrol).unwrap().answered), (10, 10));
    assert_eq!(report.of(Kind::Connect).unwrap().answered, 2);
    assert_eq!(report.connected_max, 2);
    let answered = report.of(Kind::CheckIn).map_or(0, |one| one.answered);
    assert_eq!(answered + report.unsent, 80, "{report:?}");
    assert!(report.requests.iter().all(|one| one.failed == 0), "{report:?}");
    // The test has created no task, and its devices can no longer do anything.
    assert!(running.tasks().await.is_empty());
    let population: PopulationName = "load-test".parse().unwrap();
    let populations = running.admin().populations().await.unwrap();
    let left = populations.iter().find(|one| one.name == population).unwrap();
    assert_eq!(left.client_count, 0, "the devices were revoked");

    let html = page::html(&report).unwrap();
    assert!(html.contains("<td>connect</td>") && html.contains("<svg"), "{html}");
    let text = report.text();
    assert!(text.contains("10 of 10 devices enrolled") && text.contains("\nconnect "), "{text}");
    running.host.stop().await.unwrap();
}

/// The round has a goal of one update, and only this device checks in. So the round stays open until its upload is
/// complete.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_slow_and_breaks_off_is_continued_and_accepted() {
    let running = coordinator().await;
    let settings = Settings { devices: 1, connected: Some(1), parameters: Some(1_000), ..small() };
    let rehearsal = Rehearsal::begin(&running.target, running.api_key(), &settings).await.unwrap();
    let [device] = enrol_each(&running.target, &rehearsal.token, 1).await.unwrap().try_into().unwrap();
    let schemas = Schemas::default();
    let broken = Manner { breaks_at: Some(1_500), ..Manner::default() };
    let slow = Manner { bytes_per_second: Some(1 << 20), breaks_at: Some(0) };
    for manner in [Manner::default(), broken, slow] {
        let assignment = loop {
            match device.check_in(&offer(), 30).await.unwrap() {
                CheckInResponse::Assigned { assignment } => break assignment,
                CheckInResponse::Wait { .. } => {}
            }
        };
        let error = download(&device, &assignment, 999).await.unwrap_err().to_string();
        assert!(error.contains("set --parameters to 1000"), "{error}");
        download(&device, &assignment, 1_000).await.unwrap();
        let schema = schemas.digest(&device, assignment.plan).await.unwrap();
        upload(&device, &assignment, &[0.0; 1_000], schema, manner).await.unwrap();
    }
    rehearsal.end().await.unwrap();
    let [task] = running.tasks().await.try_into().unwrap();
    let task = serde_json::to_value(&task).unwrap();
    assert!(task.to_string().contains("cancelled"), "{task}");
    running.host.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_ends_the_test_at_once() {
    let running = coordinator().await;
    let (_stop, stopped) = watch::channel(false);
    let token = format!("{:016x}.{:064x}", 1, 2);
    let error =
        measure(&running.target, &token, &small(), stopped, Screen::Silent, &mut |_| {}).await.unwrap_err();
    assert!(matches!(error, LoadError::Enrol { number: 1, .. }), "{error}");
    running.host.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_is_stopped_reports_what_it_has_so_far() {
    let running = coordinator().await;
    let (_stop, stopped) = watch::channel(true);
    let settings = Settings { seconds: 3600, ..small() };
    let rehearsal = Rehearsal::begin(&running.target, running.api_key(), &settings).await.unwrap();
    let report = measure(&running.target, &rehearsal.token, &settings, stopped, Screen::Silent, &mut |_| {})
        .await
        .unwrap();
    assert!(report.is_interrupted && report.unsent == 0, "{report:?}");
    running.host.stop().await.unwrap();
}

/// The port is bound and nobody listens on it, so every connection is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_is_not_there_is_an_error_with_advice() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    let target = Target::new(&url, None, false).unwrap();
    let (_stop, stopped) = watch::channel(false);
    let error = measure(&target, "token", &small(), stopped, Screen::Silent, &mut |_| {})
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("check the address, --ca and the token"), "{error}");
}
