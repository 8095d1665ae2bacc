//! Tests of `folkmoot doctor` on data folders, certificates and databases, with and without a running coordinator.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Output,
};

use folkmoot_engine::onnx::build::mlp;
use folkmoot_test_postgres::TestPostgres;
use serde_json::Value;
use sqlx::Connection;

use super::operator::{Serving, operators_certificate, program};

/// All checks, in the order of the report.
const CHECKS: [&str; 25] = [
    "configuration",
    "environment",
    "data_folder",
    "permissions",
    "writable",
    "disk",
    "lock",
    "database",
    "migrations",
    "integrity",
    "blobs",
    "blob_sample",
    "clock",
    "certificate",
    "certificate_names",
    "certificate_key",
    "certificate_pin",
    "authority",
    "client_authority",
    "coordinator",
    "readiness",
    "coordinator_version",
    "identity_provider",
    "notifications",
    "version",
];

/// An address that no coordinator can have, so that another program on this machine cannot disturb a test.
const NOWHERE: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// The output of one run.
struct Diagnosis {
    output: Output,
    report: Value,
}

impl Diagnosis {
    fn of(folder: &Path, arguments: &[&str]) -> Self {
        let output = program(folder)
            .args(["doctor", "--json"])
            .args(arguments)
            .output()
            .expect("the binary was built for this test");
        let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        Self { output, report }
    }

    fn findings(&self) -> &[Value] {
        self.report["findings"].as_array().expect("there are findings")
    }

    fn finding(&self, check: &str) -> &Value {
        let mut findings = self.findings().iter();
        findings.find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("no check {check}"))
    }

    fn verdict(&self, check: &str) -> &str {
        self.finding(check)["verdict"].as_str().expect("it is a word")
    }

    fn message(&self, check: &str) -> &str {
        self.finding(check)["message"].as_str().expect("it is a sentence")
    }

    /// Returns the names of the checks with a verdict. The free space depends on the machine, so `disk` is left out.
    fn with(&self, verdict: &str) -> Vec<&str> {
        let findings = self.findings().iter().filter(|finding| finding["verdict"] == verdict);
        let names = findings.map(|finding| finding["check"].as_str().expect("it is a name"));
        names.filter(|name| *name != "disk").collect()
    }

    /// Asserts that exactly these checks failed, and that the exit status shows a failure.
    fn failed(&self, checks: &[&str]) {
        assert_eq!(self.with("failed"), checks, "{:#}", self.report);
        assert_eq!(self.report["is_healthy"], checks.is_empty());
        let said = String::from_utf8_lossy(&self.output.stderr);
        if checks.is_empty() {
            assert_eq!((self.output.status.code(), &*said), (Some(0), ""));
        } else {
            let expected =
                format!("error: {} of {} checks failed\nremedy: ", checks.len(), self.findings().len());
            assert!(self.output.status.code() == Some(1) && said.starts_with(&expected), "{said}");
        }
    }
}

/// Creates a data folder and stops its coordinator. The coordinator has one model.
async fn data_folder(folder: &Path, arguments: &[&str]) {
    let serving = Serving::start(folder, &[&["--data", "data"], arguments].concat());
    upload(folder, &serving).await;
    serving.stop();
}

async fn upload(folder: &Path, serving: &Serving) {
    let admin = serving.admin(folder, serving.first_api_key(), None);
    admin.create_model(mlp(&[4, 3], 1)).await.expect("the model can be trained");
}

/// Returns the files below a folder with their contents. SQLite's index of its log is left out: a coordinator that ends
/// can leave a log, and every reader builds the index again.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("it is ours") {
        let path = entry.expect("it is ours").path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false if path.to_string_lossy().ends_with("-shm") => {}
            false => drop(found.insert(path.clone(), fs::read(&path).expect("it is ours"))),
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_coordinator_is_healthy() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let serving = Serving::start(folder, &["--data", "data", "--host-name", "fl.example"]);
    upload(folder, &serving).await;
    let arguments = ["--data", "data", "--listen", serving.address(), "--host-name", "fl.example"];

    let diagnosis = Diagnosis::of(folder, &[&arguments[..], &["--deep"]].concat());
    diagnosis.failed(&[]);
    assert_eq!(diagnosis.with("warning"), Vec::<&str>::new(), "{:#}", diagnosis.report);
    assert_eq!(diagnosis.with("skipped"), ["client_authority", "identity_provider", "notifications"]);
    assert_eq!(diagnosis.message("lock"), "A coordinator is running on the data folder.");
    let sample = diagnosis.message("blob_sample");
    assert!(sample.ends_with("newest blobs exist, and their digests are right."), "{sample}");
    assert_eq!(diagnosis.message("integrity"), "SQLite finds no fault in the file.");

    // The report is complete, and every finding has the same fields.
    assert_eq!(diagnosis.report["version"], env!("CARGO_PKG_VERSION"));
    let names: Vec<&Value> = diagnosis.findings().iter().map(|finding| &finding["check"]).collect();
    assert_eq!(names, CHECKS);
    for finding in diagnosis.findings() {
        let fields: Vec<&String> = finding.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["check", "message", "remedy", "verdict"], "{finding}");
        let has_remedy = ["warning", "failed"].contains(&finding["verdict"].as_str().unwrap());
        assert_eq!(finding["remedy"].is_string(), has_remedy, "{finding}");
    }

    let elsewhere = Diagnosis::of(folder, &[&["--data", "data"], &NOWHERE[..]].concat());
    elsewhere.failed(&[]);
    assert_eq!(elsewhere.with("warning"), ["coordinator"]);

    let text = program(folder).arg("doctor").args(arguments).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.lines().any(|line| line == "ok       readiness           The coordinator is ready."),
        "{text}"
    );
    serving.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_coordinator_is_healthy_and_its_folder_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    data_folder(folder, &[]).await;
    let before = contents(&folder.join("data"));
    let diagnosis = Diagnosis::of(folder, &[&["--data", "data"], &NOWHERE[..]].concat());
    diagnosis.failed(&[]);
    assert_eq!(diagnosis.with("warning"), Vec::<&str>::new());
    let skipped = [
        "integrity",
        "client_authority",
        "coordinator",
        "readiness",
        "coordinator_version",
        "identity_provider",
        "notifications",
    ];
    assert_eq!(diagnosis.with("skipped"), skipped);
    let after = contents(&folder.join("data"));
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    let changed: Vec<&PathBuf> = before.keys().filter(|path| before[*path] != after[*path]).collect();
    assert!(changed.is_empty(), "{changed:?}");

    fs::remove_dir_all(folder.join("data/blobs")).unwrap();
    Diagnosis::of(folder, &[&["--data", "data"], &NOWHERE[..]].concat()).failed(&["blobs"]);
    fs::remove_file(folder.join("data/folkmoot.db")).unwrap();
    Diagnosis::of(folder, &[&["--data", "data"], &NOWHERE[..]].concat()).failed(&["database", "blobs"]);
    assert!(!folder.join("data/folkmoot.db").exists() && !folder.join("data/blobs").exists());
}

#[test]
fn a_missing_folder_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let diagnosis = Diagnosis::of(folder.path(), &[&["--data", "data"], &NOWHERE[..]].concat());
    diagnosis.failed(&[]);
    assert_eq!(diagnosis.with("warning"), ["data_folder"]);
    assert!(diagnosis.message("data_folder").contains("does not exist"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_everybody_can_read_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    data_folder(folder, &[]).await;
    let key = folder.join("data/server.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let diagnosis = Diagnosis::of(folder, &[&["--data", "data"], &NOWHERE[..]].concat());
    diagnosis.failed(&["certificate_key"]);
    assert_eq!(diagnosis.with("warning"), ["permissions"]);
    assert_eq!(diagnosis.finding("certificate_key")["remedy"], "run: chmod 600 data/server.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o644, "it was only reported");

    fs::set_permissions(folder.join("data"), fs::Permissions::from_mode(0o755)).unwrap();
    let diagnosis = Diagnosis::of(folder, &[&["--data", "data"], &NOWHERE[..]].concat());
    diagnosis.failed(&["permissions", "certificate_key"]);
}

#[test]
fn an_expired_certificate_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["fl.example".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2019, 1, 1);
    params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    fs::write(folder.path().join("own.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(folder.path().join("own.key"), key.serialize_pem()).unwrap();
    fs::set_permissions(folder.path().join("own.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let arguments = ["--certificate", "own.pem", "--key", "own.key", "--host-name", "other.example"];
    let diagnosis = Diagnosis::of(folder.path(), &[&arguments[..], &NOWHERE].concat());
    diagnosis.failed(&["certificate"]);
    let message = "own.pem expired on 2020-01-01T00:00:00Z, so clients refuse it.";
    assert_eq!(diagnosis.message("certificate"), message);
    assert_eq!(diagnosis.verdict("certificate_names"), "warning");
    assert!(diagnosis.message("certificate_names").contains("other.example"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_a_newer_program_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    data_folder(folder, &[]).await;
    let url = format!("sqlite://{}", folder.join("data/folkmoot.db").display());
    let mut database = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let insert = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'later', TRUE, X'00', 0)";
    sqlx::raw_sql(insert).execute(&mut database).await.unwrap();
    database.close().await.unwrap();
    let diagnosis = Diagnosis::of(folder, &[&["--data", "data"], &NOWHERE[..]].concat());
    diagnosis.failed(&["migrations"]);
    let message = diagnosis.message("migrations");
    assert!(
        message.starts_with("The database is newer than this program") && message.ends_with("9999."),
        "{message}"
    );
}

#[test]
fn a_broken_configuration_is_the_only_failure() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("folkmoot.toml"), "[server]\nlistem = \"0.0.0.0:9443\"\n").unwrap();
    let diagnosis = Diagnosis::of(folder.path(), &[]);
    diagnosis.failed(&["configuration"]);
    assert_eq!(diagnosis.message("configuration"), "folkmoot.toml:2:1: there is no key `listem`");
    assert_eq!(diagnosis.finding("configuration")["remedy"], "did you mean `listen`?");
    assert_eq!(diagnosis.with("ok"), ["environment", "version"]);
    let names: Vec<&Value> = diagnosis.findings().iter().map(|finding| &finding["check"]).collect();
    assert_eq!(names, CHECKS);
}

#[test]
fn a_misspelt_variable_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = program(folder.path());
    program.env("FOLKMOOT_SERVER_LISTEN", NOWHERE[1]).env("FOLKMOOT_SERVER_DATTA", "data");
    let output = program.arg("doctor").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && text.contains("no setting has these names: FOLKMOOT_SERVER_DATTA."),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_with_the_operators_certificate_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (certificate, key) = operators_certificate();
    fs::write(folder.join("own.pem"), certificate).unwrap();
    fs::write(folder.join("own.key"), key).unwrap();
    fs::set_permissions(folder.join("own.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let settings = ["--data", "data", "--certificate", "own.pem", "--key", "own.key"];
    let serving = Serving::start(folder, &settings);
    let asked = [&settings[..], &["--listen", serving.address()]].concat();
    let diagnosis = Diagnosis::of(folder, &asked);
    diagnosis.failed(&[]);
    assert_eq!(diagnosis.verdict("coordinator_version"), "ok");

    // A certificate other than the one that the coordinator serves.
    let (certificate, key) = operators_certificate();
    fs::write(folder.join("own.pem"), certificate).unwrap();
    fs::write(folder.join("own.key"), key).unwrap();
    Diagnosis::of(folder, &asked).failed(&["coordinator"]);
    serving.stop();
}

#[test]
fn another_program_at_the_address_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Closes every connection at once.
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let diagnosis = Diagnosis::of(folder.path(), &["--tls", "off", "--listen", &address]);
    diagnosis.failed(&["coordinator"]);
    assert!(diagnosis.message("coordinator").contains(&address));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_on_postgres_is_healthy() {
    let Some(server) = TestPostgres::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let url = server.database();
    let new = Diagnosis::of(folder, &[&["--data", "data", "--database", &url], &NOWHERE[..]].concat());
    new.failed(&[]);
    assert!(new.message("migrations").starts_with("The database is empty"));

    let serving = Serving::start(folder, &["--data", "data", "--database", &url]);
    upload(folder, &serving).await;
    let arguments = ["--data", "data", "--database", &url, "--listen", serving.address(), "--deep"];
    let diagnosis = Diagnosis::of(folder, &arguments);
    diagnosis.failed(&[]);
    assert_eq!(diagnosis.with("warning"), Vec::<&str>::new());
    assert_eq!(
        diagnosis.with("skipped"),
        ["integrity", "client_authority", "identity_provider", "notifications"]
    );
    assert!(diagnosis.message("clock").contains("the clock of PostgreSQL"), "{:#}", diagnosis.report);
    assert!(diagnosis.message("version").contains("PostgreSQL"), "{:#}", diagnosis.report);
    serving.stop();
}
