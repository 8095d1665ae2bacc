//! Tests of `folkmoot serve --role aggregator` with real clients.

use std::{fs, path::Path, process::Child};

use folkmoot_api::{AdminClient, Page};
use folkmoot_engine::onnx::build::mlp;
use folkmoot_protocol::Role;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::operator::{Serving, program, refusal_to_serve};

/// Starts a client that runs until its first update is accepted.
fn client(folder: &Path, url: &str, token: &str, state: &str) -> Child {
    let own = ["--coordinator", url, "--ca", "site/ca.pem", "--token", token, "--state", state];
    let other = ["--data", "examples.csv", "--device", "cpu", "--rounds", "1"];
    program(folder).arg("client").args(own).args(other).spawn().expect("the binary was built for this test")
}

fn aggregator(folder: &Path, coordinator: &Serving, key: &str) -> Serving {
    let mut command = program(folder);
    command.env("FOLKMOOT_UPSTREAM_KEY", key);
    let upstream = ["--upstream", coordinator.url(), "--upstream-ca", "data/ca.pem"];
    Serving::start_by(command, &[&["--role", "aggregator", "--data", "site"][..], &upstream].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_train_through_an_aggregator_that_is_killed_between_two_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("examples.csv"), "a,b,label\n1,2,0\n2,1,1\n3,3,2\n").unwrap();
    let coordinator = Serving::start(folder, &["--data", "data"]);
    let admin = coordinator.admin(folder, coordinator.first_api_key(), None);
    let token = admin.create_token("sites".parse().unwrap(), None, None).await.unwrap().token;
    let model = admin.create_model(mlp(&[2, 3], 1)).await.unwrap().model;
    let description = json!({
        "name": "sites", "population": "sites",
        "plan": {
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1, "batch_size": 3,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 2, "over_selection_factor": 1.0 },
        "stop": { "rounds": 2 },
    });
    let task = admin.create_task(serde_json::from_value(description).unwrap(), model, true).await.unwrap();
    let key = admin.create_api_key("site", Role::Aggregator).await.unwrap().api_key;
    for round in 1..=2 {
        let site = aggregator(folder, &coordinator, &key);
        let mut clients =
            ["one", "two"].map(|name| client(folder, site.url(), &token, &format!("{name}-{round}")));
        for client in &mut clients {
            assert!(client.wait().unwrap().success());
        }
        // A killed aggregator has what it accepted on its disk.
        site.signal(Signal::SIGKILL);
        let site = aggregator(folder, &coordinator, &key);
        await_version(&admin, task.id, round).await;
        site.stop();
    }
    coordinator.stop();
}

async fn await_version(admin: &AdminClient, task: folkmoot_protocol::TaskId, number: u64) {
    let newest =
        async || admin.versions(task, Page { limit: 1, before: None }).await.expect("it answers")[0].number;
    let released = async {
        while newest().await < number {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(120), released).await.expect("the round ends");
}

#[test]
fn an_aggregator_that_cannot_work_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let role = ["--role", "aggregator"];
    let said = |flags: &[&str]| refusal_to_serve(folder, &[&role[..], flags].concat());
    assert!(said(&[]).contains("give --upstream, for example https://fl.example"));
    let upstream = ["--upstream", "https://127.0.0.1:1"];
    assert!(said(&upstream).contains("folkmoot key create NAME --role aggregator"));
    let keyed = [&upstream[..], &["--upstream-key", "nonsense"]].concat();
    assert!(said(&keyed).contains("add --data and a folder of the aggregator's own"));
    let whole = [&keyed[..], &["--data", "site"]].concat();
    let unreachable = said(&whole);
    assert!(unreachable.contains("cannot reach the coordinator"), "{unreachable}");
    let coordinator = Serving::start(folder, &["--data", "data"]);
    let key = coordinator.first_api_key();
    let admin = [
        "--upstream",
        coordinator.url(),
        "--upstream-key",
        key,
        "--upstream-ca",
        "data/ca.pem",
        "--data",
        "site",
    ];
    let refused = said(&admin);
    assert!(refused.contains("this request needs the role aggregator, but the key"), "{refused}");
    // Each keeps out of the folder of the other.
    let own = serde_json::from_str::<serde_json::Value>(&create_key(folder, &coordinator)).unwrap();
    let own = own["api_key"].as_str().unwrap();
    let flags = ["--upstream", coordinator.url(), "--upstream-key", own, "--upstream-ca", "data/ca.pem"];
    let taken = said(&[&flags[..], &["--data", "data"]].concat());
    assert!(taken.contains("is the data folder of a coordinator"), "{taken}");
    let site = Serving::start(folder, &[&role[..], &flags, &["--data", "site"]].concat());
    let twice = said(&[&flags[..], &["--data", "site"]].concat());
    assert!(twice.contains("an edge aggregator is running on the data folder"), "{twice}");
    let deleting = refusal_to_serve(folder, &["--data", "site"]);
    assert!(deleting.contains("is the data folder of an edge aggregator"), "{deleting}");
    let forgotten = refusal_to_serve(folder, &[&flags[..], &["--data", "other"]].concat());
    assert!(forgotten.contains("add --role aggregator"), "{forgotten}");
    site.stop();
    coordinator.stop();
}

/// Creates an aggregator's key with the command, and returns its answer in JSON.
fn create_key(folder: &Path, coordinator: &Serving) -> String {
    let flags = ["--role", "aggregator", "--json", "--url", coordinator.url(), "--ca", "data/ca.pem"];
    let key = ["--api-key", coordinator.first_api_key()];
    let output = program(folder).args(["key", "create", "site"]).args(flags).args(key).output();
    String::from_utf8(output.expect("the binary was built for this test").stdout).expect("it writes text")
}
