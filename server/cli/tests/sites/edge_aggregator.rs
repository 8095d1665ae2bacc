//! Tests of `folkmoot serve --role aggregator` with real clients.

use std::path::Path;

use folkmoot_api::Page;
use folkmoot_protocol::Role;
use nix::sys::signal::Signal;

use super::SmallTask;
use crate::operator::{Serving, open_to_others, program, program_after, refusal_to_serve};

fn aggregator(folder: &Path, coordinator: &Serving, key: &str) -> Serving {
    let mut command = program_after("umask 0", folder);
    command.env("FOLKMOOT_UPSTREAM_KEY", key);
    let upstream = ["--upstream", coordinator.url(), "--upstream-ca", "data/ca.pem"];
    Serving::start_by(command, &[&["--role", "aggregator", "--data", "site"][..], &upstream].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_train_through_an_aggregator_that_is_killed_between_two_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let coordinator = Serving::start(folder, &["--data", "data"]);
    let task = SmallTask::create(folder, &coordinator, 2, 3).await;
    let key = task.admin.create_api_key("site", Role::Aggregator).await.unwrap().api_key;
    let mut site = aggregator(folder, &coordinator, &key);
    for round in 1..=3 {
        let client = |name: &str| {
            let state = format!("{name}-{round}");
            let client = task.client(folder, &site, "site/ca.pem", &state).spawn();
            client.expect("the binary was built for this test")
        };
        for mut client in ["one", "two"].map(client) {
            assert!(client.wait().unwrap().success());
        }
        // A killed aggregator has what it accepted on its disk, readable by its owner only.
        site.signal(Signal::SIGKILL);
        drop(site);
        assert_eq!(open_to_others(&folder.join("site")), []);
        site = aggregator(folder, &coordinator, &key);
    }
    // The clients of the third round were drawn only after the second version, whose sum came from a restarted aggregator.
    let newest = task.admin.versions(task.task.id, Page { limit: 1, before: None }).await.unwrap()[0].number;
    assert!(newest >= 2, "{newest}");
    site.stop();
    coordinator.stop();
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
