//! Tests of `folkmoot backup` and `folkmoot restore` as a program: the logs of an operator survive, and everything that
//! could destroy data is refused.

mod prune;

use std::{fs, path::Path, process::Output};

use folkmoot_api::tokens::CreateTokenRequest;
use folkmoot_test_postgres::TestPostgres;
use serde_json::Value;
use sqlx::{AnyConnection, Connection, any::install_default_drivers};

use crate::operator::{Serving, open_to_others, program, program_after};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    program(folder).args(arguments).output().expect("the binary was built for this test")
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("the program prints UTF-8")
}

/// Asserts that a run failed with a message that contains `expected`.
fn refused(output: &Output, expected: &str) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && message.contains(expected), "{expected}: {output:?}");
}

/// Runs a command against a coordinator.
fn ask(folder: &Path, serving: &Serving, key: &str, data: &str, words: &[&str]) -> String {
    let mut program = program(folder);
    program.args(words).env("FOLKMOOT_URL", serving.url()).env("FOLKMOOT_API_KEY", key);
    program.env("FOLKMOOT_CA", folder.join(data).join("ca.pem"));
    done(&program.output().expect("the binary was built for this test"))
}

/// Returns the verified heads of the audit log and of a population's ledger.
fn heads(folder: &Path, serving: &Serving, key: &str, data: &str) -> [String; 2] {
    [&["audit", "verify"][..], &["privacy", "verify", "homes"]]
        .map(|words| ask(folder, serving, key, data, words))
}

/// Creates a coordinator with an audit log and a ledger, and stops it. Returns its key and the heads of both.
async fn stopped_coordinator(folder: &Path) -> (String, [String; 2]) {
    let serving = Serving::start(folder, &["--data", "data"]);
    let key = serving.first_api_key().to_owned();
    let admin = serving.admin(folder, &key, None);
    let token = CreateTokenRequest::of("homes".parse().expect("it is a name"));
    admin.create_token_from(&token).await.expect("the coordinator runs");
    ask(folder, &serving, &key, "data", &["population", "set", "homes", "--epsilon", "8", "--delta", "1e-6"]);
    let heads = heads(folder, &serving, &key, "data");
    refused(
        &run(folder, &["backup", "--data", "data", "--output", "backup"]),
        "a coordinator is running on the data folder data; stop the coordinator first",
    );
    assert!(!folder.join("backup").exists());
    serving.stop();
    (key, heads)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_logs_of_a_saved_coordinator_are_intact_and_its_files_private() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let (key, before) = stopped_coordinator(folder).await;
    let openly =
        |arguments: &[&str]| done(&program_after("umask 0", folder).args(arguments).output().unwrap());
    let saved = openly(&["backup", "--data", "data", "--output", "backup", "--json"]);
    let restored = openly(&["restore", "--from", "backup", "--data", "other", "--json"]);
    assert_eq!(saved, restored);
    let summary: Value = serde_json::from_str(&saved).unwrap();
    assert!(summary["rows"].as_u64() > Some(4), "{summary}");
    for name in ["backup", "other"] {
        assert_eq!(open_to_others(&folder.join(name)), []);
    }
    refused(&run(folder, &["backup", "--data", "data", "--output", "backup"]), "backup exists already");
    refused(&run(folder, &["restore", "--from", "backup", "--data", "other"]), "other is not empty");

    let serving = Serving::start(folder, &["--data", "other"]);
    assert!(!serving.is_new(), "it has the keys of the saved one");
    assert_eq!(heads(folder, &serving, &key, "other"), before);
    serving.stop();

    let Some(postgres) = TestPostgres::start() else { return };
    let url = postgres.database();
    let to_postgres = ["--data", "third", "--database", url.as_str()];
    let restore = [&["restore", "--from", "backup"][..], &to_postgres].concat();
    assert!(done(&run(folder, &restore)).starts_with("restored "));
    let serving = Serving::start(folder, &to_postgres);
    assert_eq!(heads(folder, &serving, &key, "third"), before);
    // PostgreSQL is saved while it is in use.
    done(&run(folder, &[&["backup", "--output", "second"][..], &to_postgres].concat()));
    serving.stop();
    let again = [&["restore", "--from", "second", "--data", "fourth"][..], &to_postgres[2..]].concat();
    refused(&run(folder, &again), "the database is not empty: the table ");
    assert_eq!(fs::read_dir(folder.join("fourth")).unwrap().count(), 0);
}

/// Restores the backup and asserts that it is refused, and that nothing stays.
fn refused_to_restore(folder: &Path, expected: &str) {
    refused(&run(folder, &["restore", "--from", "backup", "--data", "other"]), expected);
    let left = fs::read_dir(folder.join("other")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{expected}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_cannot_be_restored_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    refused_to_restore(folder, "backup has no manifest.json, so it is not a complete backup");
    stopped_coordinator(folder).await;
    done(&run(folder, &["backup", "--data", "data", "--output", "backup"]));
    let file = folder.join("backup/manifest.json");
    let text = fs::read_to_string(&file).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut manifest: Value = serde_json::from_str(&text).unwrap();
        change(&mut manifest);
        fs::write(&file, manifest.to_string()).unwrap();
    };
    changed(&|manifest| manifest["format_version"] = 2.into());
    refused_to_restore(folder, "the backup has the format version 2, and this program reads version 1");
    changed(&|manifest| manifest["schema"]["newest"] = 3.into());
    refused_to_restore(folder, "the backup has the database schema 3");
    changed(&|manifest| manifest["tables"][0]["columns"][0]["name"] = "another".into());
    refused_to_restore(folder, "the tables of the backup are not those of the database");
    changed(&|manifest| manifest["files"][0]["path"] = "../data/ca.pem".into());
    refused_to_restore(folder, "the backup is damaged");
    fs::write(&file, "no JSON").unwrap();
    refused_to_restore(folder, "is not the manifest of a backup");
    fs::write(&file, &text).unwrap();

    let table = folder.join("backup/tables/organisations.jsonl");
    let rows = fs::read_to_string(&table).unwrap();
    fs::write(&table, rows.replace("default", "defaulT")).unwrap();
    refused_to_restore(folder, "organisations.jsonl differs from the manifest");
    fs::remove_file(&table).unwrap();
    refused_to_restore(folder, "organisations.jsonl differs from the manifest");
    fs::write(&table, rows).unwrap();
    done(&run(folder, &["restore", "--from", "backup", "--data", "other"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_another_version_is_not_saved() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    refused(&run(folder, &["backup", "--data", "data", "--output", "backup"]), "is not the data folder");
    stopped_coordinator(folder).await;
    install_default_drivers();
    let url = format!("sqlite://{}?mode=rw", folder.join("data/folkmoot.db").display());
    let mut database = AnyConnection::connect(&url).await.unwrap();
    const DELETE: &str =
        "DELETE FROM _sqlx_migrations WHERE version = (SELECT MAX(version) FROM _sqlx_migrations)";
    sqlx::query(DELETE).execute(&mut database).await.unwrap();
    database.close().await.unwrap();
    let backup = run(folder, &["backup", "--data", "data", "--output", "backup"]);
    refused(&backup, "the database has not the schema of this program: pending migrations [");
    assert!(!folder.join("backup").exists());
}
