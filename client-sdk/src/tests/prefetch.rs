//! Prefetches of weights that are offered to a waiting client.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use folkmoot_protocol::messages::Artifact;
use tokio::sync::watch;

use super::{
    fake::{Fake, Trouble, artifact},
    listener::has_length,
    patiently,
    story::{builder, never},
    tiny_model, until,
};
use crate::{ClientEvent, LogEntry};

fn weights() -> Artifact {
    artifact(&tiny_model::weight_bytes())
}

fn offering(offered: Artifact) -> Arc<Fake> {
    Arc::new(Fake::new(1, Trouble { offers: Some(offered), ..Trouble::default() }))
}

/// Offers the weights, and sends the rest of them when the returned gate is opened. The gate closes when the server has
/// noticed that the client has disconnected.
fn offering_gated() -> (Arc<Fake>, watch::Sender<bool>) {
    let (gate, weights_gate) = watch::channel(false);
    let trouble = Trouble { offers: Some(weights()), weights_gate: Some(weights_gate), ..Trouble::default() };
    (Arc::new(Fake::new(1, trouble)), gate)
}

fn cached(directory: &Path, artifact: Artifact) -> PathBuf {
    directory.join("blobs").join(artifact.digest.to_string())
}

/// The partial file of a blob.
pub(super) fn partial(directory: &Path, artifact: Artifact) -> PathBuf {
    cached(directory, artifact).with_added_extension("partial")
}

/// Runs a client that is assigned its round once `is_time` returns `true`, and returns the failures that it reported.
/// If there is a `gate` for the weights, it is opened when the assignment requests them.
async fn run_round(
    fake: &Arc<Fake>,
    directory: &Path,
    is_time: impl Fn() -> bool,
    gate: Option<watch::Sender<bool>>,
) -> Vec<String> {
    let failures = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&failures);
    let builder = builder(fake, directory).await.on_event(move |event| {
        if let ClientEvent::BackingOff { detail, .. } | ClientEvent::Aborted { detail, .. } = event {
            heard.lock().unwrap().push(detail);
        }
    });
    let mut client = builder.build().unwrap();
    let log = client.transparency_log().clone();
    let is_model = |entry: &LogEntry| entry.detail.as_deref() == Some("model");
    let assign = async {
        until("the time to assign", is_time).await;
        fake.trouble.lock().unwrap().offers = None;
        if let Some(gate) = gate {
            // The weights are requested as soon as the model has arrived.
            until("the model", || log.entries().unwrap().iter().any(is_model)).await;
            gate.send(true).unwrap();
        }
    };
    let (summary, ()) = tokio::join!(client.run_rounds(1, never()), assign);
    assert_eq!(summary.unwrap().accepted_rounds, 1);
    std::mem::take(&mut *failures.lock().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offered_version_is_here_before_the_assignment_and_comes_once() {
    let fake = offering(weights());
    let directory = tempfile::tempdir().unwrap();
    let path = cached(directory.path(), weights());
    let failures = run_round(&fake, directory.path(), || path.exists(), None).await;
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(fake.weights_requests(), 1);
    let plan = serde_json::to_vec(&fake.plan).unwrap();
    let fetched = (plan.len() + tiny_model::onnx().len()) as u64;
    assert_eq!(fake.seen().reports[0].download_bytes, fetched, "the assignment had its weights already");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_waits_for_weights_that_are_on_their_way() {
    let (fake, gate) = offering_gated();
    let directory = tempfile::tempdir().unwrap();
    let failures = run_round(&fake, directory.path(), || fake.weights_requests() > 0, Some(gate)).await;
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(fake.weights_requests(), 1);
    assert!(fake.seen().ranges.is_empty(), "nothing of it was asked for again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_not_to_be_had_costs_nothing() {
    let unknown = artifact(b"what nobody has");
    let fake = offering(unknown);
    let directory = tempfile::tempdir().unwrap();
    let asked = || {
        let digest = unknown.digest.to_string();
        // A prefetch that has ended can begin again.
        fake.seen().requests.iter().filter(|request| request.line.ends_with(&digest)).count() > 1
    };
    let failures = run_round(&fake, directory.path(), asked, None).await;
    assert!(failures.is_empty(), "{failures:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_larger_than_the_cache_is_not_asked_for() {
    let fake = offering(Artifact { bytes: u64::MAX, ..weights() });
    let directory = tempfile::tempdir().unwrap();
    let waits = || {
        let requests = &fake.seen().requests;
        requests.iter().filter(|request| request.line.contains("check-in")).count() > 2
    };
    let failures = run_round(&fake, directory.path(), waits, None).await;
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(fake.weights_requests(), 1, "the assignment's own, which says the right size");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_it() {
    let (fake, gate) = offering_gated();
    let directory = tempfile::tempdir().unwrap();
    let mut client = builder(&fake, directory.path()).await.build().unwrap();
    let partial = partial(directory.path(), weights());
    client.run(until("the first six bytes", || has_length(&partial, 6))).await.unwrap();
    // The rest was never sent: the connection ends because the client has cancelled the fetch.
    patiently("the end of the connection", gate.closed()).await;
    assert!(!cached(directory.path(), weights()).exists() && has_length(&partial, 6));
}
