//! Tests of `folkmoot prune` as a program: what nothing needs is deleted, and nothing else.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Output,
    time::{Duration, SystemTime},
};

use folkmoot_protocol::BlobDigest;
use serde_json::Value;

use crate::operator::{Serving, program};

const WORKS: &str = "the program and the disk work";

/// Stores a blob that no row names, as if in 2001.
fn store_unused(folder: &Path, bytes: &[u8]) -> PathBuf {
    let digits = BlobDigest::of(bytes).to_string();
    let file = folder.join("data/blobs").join(&digits[..2]).join(&digits);
    fs::create_dir_all(file.parent().expect(WORKS)).expect(WORKS);
    fs::write(&file, bytes).expect(WORKS);
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(&file).expect(WORKS).set_modified(then).expect(WORKS);
    file
}

fn prune(folder: &Path, arguments: &[&str]) -> Output {
    program(folder).args(["prune", "--data", "data"]).args(arguments).output().expect(WORKS)
}

/// Returns the numbers of blobs that were set aside, wait, and were deleted.
fn pruned(folder: &Path, arguments: &[&str]) -> [u64; 3] {
    let output = prune(folder, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    let pruned: Value = serde_json::from_slice(&output.stdout).expect(WORKS);
    ["set_aside", "waiting", "freed"].map(|name| pruned[name]["blobs"].as_u64().expect(WORKS))
}

fn refused(folder: &Path, arguments: &[&str], expected: &str) {
    let output = prune(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && message.contains(expected), "{output:?}");
}

#[test]
fn what_nothing_needs_is_deleted_at_once_or_after_an_hour() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    for data in ["data", "other"] {
        Serving::start(folder, &["--data", data]).stop();
    }
    let first = store_unused(folder, b"one");
    assert_eq!(pruned(folder, &["--dry-run"]), [1, 0, 0]);
    assert_eq!(pruned(folder, &["--at-once", "--dry-run"]), [1, 0, 0]);
    let other = format!("sqlite://{}", folder.join("other/folkmoot.db").display());
    refused(folder, &["--database", &other], "check that the database and the store belong together");
    refused(folder, &["--database", "postgres://nowhere/db", "--at-once"], "leave out --at-once");
    assert!(first.exists(), "nothing was changed");
    assert_eq!(pruned(folder, &["--at-once"]), [0, 0, 1]);
    let unused = || fs::read_dir(folder.join("data/blobs/unused")).unwrap().count();
    assert!(!first.exists() && unused() == 0);

    let second = store_unused(folder, b"another one");
    let serving = Serving::start(folder, &["--data", "data"]);
    refused(folder, &["--at-once"], "stop the coordinator first");
    assert_eq!(pruned(folder, &[]), [1, 0, 0]);
    assert_eq!(pruned(folder, &[]), [0, 1, 0]);
    serving.stop();
    assert!(!second.exists() && unused() == 1);
}
