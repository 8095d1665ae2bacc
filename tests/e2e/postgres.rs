//! Tests the complete coordinator with PostgreSQL, over real sockets, with the administrative API and real clients that
//! train.

use std::path::{Path, PathBuf};

use folkmoot_api::{AdminClient, Page};
use folkmoot_client::Client;
use folkmoot_engine::data::{CsvOptions, read_csv};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::clock;
use folkmoot_service::host::{Host, HostConfig};
use folkmoot_test_postgres::TestPostgres;
use folkmoot_tests::{patience::patiently, raw::Endpoint, raw_client::RawClient};
use serde_json::json;

const CLIENTS: usize = 3;
const ROUNDS: u64 = 2;

fn digits(name: &str) -> PathBuf {
    let tests = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    Path::new(&tests).join("../examples/digits").join(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn real_clients_train_over_postgresql() {
    // If PostgreSQL is not installed, `start` has already printed that the test is skipped.
    let Some(postgres) = TestPostgres::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut config = HostConfig::loopback(folder.path().join("coordinator"));
    config.database = Some(postgres.database());
    let host = Host::start(config, clock::system_clock(), clock::system_chance(), None).await.unwrap();
    let pem = std::fs::read(host.root_certificate.clone().unwrap()).unwrap();
    let api =
        AdminClient::new(&host.url(), host.first_api_key.as_deref().unwrap(), Some(pem.clone())).unwrap();

    let model = api.create_model(std::fs::read(digits("model.onnx")).unwrap()).await.unwrap().model;
    let description = serde_json::from_value(json!({
        "name": "digits", "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1, "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": CLIENTS, "over_selection_factor": 1.0 },
        "stop": { "rounds": ROUNDS },
    }))
    .unwrap();
    let task = api.create_task(description, model, true).await.unwrap().id;
    let token = api.create_token("digits".parse().unwrap(), None, None).await.unwrap().token;

    let examples =
        read_csv(std::fs::File::open(digits("digits.csv")).unwrap(), &CsvOptions::default()).unwrap();
    let mut running = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let share: Vec<usize> = (0..examples.len()).skip(number).step_by(CLIENTS).collect();
        let mut client = Client::builder(host.url())
            .certificate(pem.clone())
            .enrolment_token(&token)
            .state_directory(folder.path().join(format!("client-{number}")))
            .examples(examples.subset(&share).unwrap())
            .build()
            .unwrap();
        running.spawn(async move { client.run_rounds(ROUNDS, std::future::pending()).await });
    }
    while let Some(ended) = running.join_next().await {
        assert_eq!(ended.unwrap().unwrap().accepted_rounds, ROUNDS);
    }

    // The clients receive their last acknowledgement before the last commit.
    let all = async {
        loop {
            let versions = api.versions(task, Page { limit: 10, before: None }).await.unwrap();
            if versions.len() as u64 == ROUNDS + 1 {
                return versions;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let versions = patiently("the last version", all).await;
    assert!(versions.iter().all(|version| version.number == 0 || version.round_id.is_some()));
    host.stop().await.unwrap();
}

/// Two coordinators share a database and a data folder. Between them, they must accept each signed request only once.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_one_process_took_is_refused_by_the_other() {
    let Some(postgres) = TestPostgres::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (database, mut hosts) = (postgres.database(), Vec::new());
    for _ in 0..2 {
        let mut config = HostConfig::loopback(folder.path().to_owned());
        config.database = Some(database.clone());
        let host = Host::start(config, clock::system_clock(), clock::system_chance(), None).await.unwrap();
        let pem = std::fs::read(host.root_certificate.clone().unwrap()).unwrap();
        hosts.push((Endpoint::new(host.address.port(), &pem), pem, host));
    }
    let [(first, pem, host), (second, ..)] = &hosts[..] else { unreachable!("two were started") };
    let api =
        AdminClient::new(&host.url(), host.first_api_key.as_deref().unwrap(), Some(pem.clone())).unwrap();
    let token = api.create_token("digits".parse().unwrap(), None, None).await.unwrap().token;

    let client = RawClient::enrolled(first, &token).await;
    let by_first = client.check_in(0).sign(&client.key);
    let by_second = client.check_in(0).sign(&client.key);
    let enrolment = RawClient::new(first);
    let enrolment = enrolment.enrolment(&token).sign(&enrolment.key);
    for (request, here, there) in
        [(by_first, first, second), (by_second, second, first), (enrolment, first, second)]
    {
        let taken = here.send(&request).await;
        assert_eq!(taken.code(), None, "{}", taken.text());
        for again in [there, here] {
            assert_eq!(again.send(&request).await.code(), Some(ErrorCode::RequestReplayed));
        }
    }
    for (.., host) in hosts {
        host.stop().await.unwrap();
    }
}
