//! Weights that are offered to a client that waits.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use folkmoot_protocol::messages::Artifact;
use tokio::time::{sleep, timeout};

use super::{
    fake::{Fake, Trouble, artifact},
    story::{builder, never},
    tiny_model,
};
use crate::ClientEvent;

fn weights() -> Artifact {
    artifact(&tiny_model::weight_bytes())
}

fn offering(offered: Artifact, weights_pause: Duration) -> Arc<Fake> {
    Arc::new(Fake::new(1, Trouble { offers: Some(offered), weights_pause, ..Trouble::default() }))
}

fn cached(directory: &Path, artifact: Artifact) -> PathBuf {
    directory.join("blobs").join(artifact.digest.to_string())
}

async fn until(is_so: impl Fn() -> bool) {
    let reached = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), reached).await.expect("it comes within 20 seconds");
}

/// Runs a client that is assigned its round when `is_time`, and returns the failures that it told of.
async fn run_round(fake: &Arc<Fake>, directory: &Path, is_time: impl Fn() -> bool) -> Vec<String> {
    let failures = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&failures);
    let builder = builder(fake, directory).await.on_event(move |event| {
        if let ClientEvent::BackingOff { detail, .. } | ClientEvent::Aborted { detail, .. } = event {
            heard.lock().unwrap().push(detail);
        }
    });
    let mut client = builder.build().unwrap();
    let assign = async {
        until(is_time).await;
        fake.trouble.lock().unwrap().offers = None;
    };
    let (summary, ()) = tokio::join!(client.run_rounds(1, never()), assign);
    assert_eq!(summary.unwrap().accepted_rounds, 1);
    std::mem::take(&mut *failures.lock().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offered_version_is_here_before_the_assignment_and_comes_once() {
    let fake = offering(weights(), Duration::ZERO);
    let directory = tempfile::tempdir().unwrap();
    let path = cached(directory.path(), weights());
    let failures = run_round(&fake, directory.path(), || path.exists()).await;
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(fake.weights_requests(), 1);
    let plan = serde_json::to_vec(&fake.plan).unwrap();
    let fetched = (plan.len() + tiny_model::onnx().len()) as u64;
    assert_eq!(fake.seen().reports[0].download_bytes, fetched, "the assignment had its weights already");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_waits_for_weights_that_are_on_their_way() {
    let fake = offering(weights(), Duration::from_millis(600));
    let directory = tempfile::tempdir().unwrap();
    let failures = run_round(&fake, directory.path(), || fake.weights_requests() > 0).await;
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(fake.weights_requests(), 1);
    assert!(fake.seen().ranges.is_empty(), "nothing of it was asked for again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_not_to_be_had_costs_nothing() {
    let unknown = artifact(b"what nobody has");
    let fake = offering(unknown, Duration::ZERO);
    let directory = tempfile::tempdir().unwrap();
    let asked = || {
        let digest = unknown.digest.to_string();
        fake.seen().requests.iter().any(|request| request.line.ends_with(&digest))
    };
    let failures = run_round(&fake, directory.path(), asked).await;
    assert!(failures.is_empty(), "{failures:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_larger_than_the_cache_is_not_asked_for() {
    let fake = offering(Artifact { bytes: u64::MAX, ..weights() }, Duration::ZERO);
    let directory = tempfile::tempdir().unwrap();
    let waits = || {
        let requests = &fake.seen().requests;
        requests.iter().filter(|request| request.line.contains("check-in")).count() > 2
    };
    let failures = run_round(&fake, directory.path(), waits).await;
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(fake.weights_requests(), 1, "the assignment's own, which says the right size");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_it() {
    let fake = offering(weights(), Duration::from_millis(600));
    let directory = tempfile::tempdir().unwrap();
    let mut client = builder(&fake, directory.path()).await.build().unwrap();
    let path = cached(directory.path(), weights());
    let partial = path.with_added_extension("partial");
    let begun = until(|| std::fs::metadata(&partial).is_ok_and(|metadata| metadata.len() == 6));
    client.run(begun).await.unwrap();
    sleep(Duration::from_millis(1000)).await;
    assert!(!path.exists() && partial.exists());
}
