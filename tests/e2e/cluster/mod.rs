//! Tests several coordinator processes that share a database and an object storage. A client's requests reach any of
//! them.

mod chaos;
mod gone;
mod paused;
mod places;
mod rolling;
mod sites;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use folkmoot_protocol::{
    ErrorCode,
    messages::{UploadState, UploadStatus},
};
use folkmoot_storage::SqlStorage;
use folkmoot_tests::{
    cluster::Cluster,
    log::fields_of,
    patience::patiently,
    raw_client::RawClient,
    task::TaskSpec,
    update::TestUpdate,
    verify::{EndedRound, verify_rounds},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    COORDINATOR,
    crash_coordinator::{client::CrashClient, completion, ledger::Ledger},
};

const SEED: u64 = 20_261_128;
const PROCESSES: usize = 3;
const CLIENTS: u64 = 8;
/// The report goal of the rounds.
const GOAL: u64 = 6;
/// The number of processes that are killed, one after the other.
const KILLS: u64 = 4;
/// The maximum number of ledger changes between two kills.
const PROGRESS_MAX: u64 = 18;
/// The number of committed rounds. A round has at least `GOAL` changes of the ledger, so the task does not end before
/// the last kill: between two kills are at most `3 * PROGRESS_MAX` changes, and the changes by clients that are not
/// held yet.
const ROUNDS: u64 = KILLS * (3 * PROGRESS_MAX + 2 * CLIENTS) / GOAL + 1;
/// The widths of the layers, with about 130,000 parameters. That is four tiles of the running sum and eight pieces of
/// an upload.
const WIDTHS: [usize; 3] = [360, 350, 12];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_are_killed_lose_nothing_and_the_others_go_on() {
    let spec = TaskSpec::synthetic(&WIDTHS, GOAL, ROUNDS).with_scheduling("over_selection_factor", 1.3);
    let Some(mut cluster) = Cluster::start(COORDINATOR, &spec, PROCESSES, SEED).await else { return };
    let ledger = Arc::new(Ledger::new(cluster.task.clone()));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (settings, url) = (cluster.http_settings(), cluster.url());
        let client =
            CrashClient::enrolled(&cluster.endpoint, &settings, &url, ledger.clone(), SEED + number).await;
        clients.spawn(client.run());
    }

    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut longest = Duration::ZERO;
    for _ in 0..KILLS {
        patiently("progress", ledger.progress(rng.random_range(0..PROGRESS_MAX))).await;
        let number = rng.random_range(0..PROCESSES);
        cluster.kill(number).await;
        let (killed, lines) = (Instant::now(), cluster.log.len());
        if rng.random_bool(0.5) {
            cluster.lose_disk(number);
        }
        // More changes than one round has, so a round must have ended without the process.
        patiently("progress of the others", ledger.progress(2 * PROGRESS_MAX)).await;
        let is_committed = |line: &str| fields_of(line, "round committed").map(drop);
        patiently("a commit of the others", cluster.log.wait_for(lines, is_committed)).await;
        longest = longest.max(killed.elapsed());
        ledger.hold_from(Some(0));
        cluster.restart(number).await;
        ledger.hold_from(None);
    }
    let (storage, _) = ended(&mut cluster, &ledger, clients, ROUNDS).await;
    storage.close().await;
    println!(
        "seed {SEED}: {} updates acknowledged, {KILLS} processes killed, at most {longest:.1?} from a kill over \
         {} changes to the next commit that was waited for",
        ledger.acknowledged().len(),
        2 * PROGRESS_MAX
    );
}

/// Waits for the last round, stops everything, and verifies every round. Returns the database and the rounds.
async fn ended(
    cluster: &mut Cluster,
    ledger: &Ledger,
    mut clients: JoinSet<()>,
    count: u64,
) -> (SqlStorage, Vec<EndedRound>) {
    patiently("the last round", completion(&cluster.log, cluster.storage(), cluster.task.id, count)).await;
    clients.shutdown().await;
    patiently("the end of the stored updates", forgotten(cluster)).await;
    cluster.log.assert_no_panic();
    cluster.stop().await;

    let storage = cluster.storage().await;
    let rounds = verify_rounds(&storage, &cluster.blobs(), &cluster.task, &ledger.sent()).await;
    assert_eq!(rounds.iter().filter(|round| round.abandoned.is_none()).count() as u64, count);
    ledger.assert_none_is_lost(&rounds);
    (storage, rounds)
}

/// Waits until the object storage has no update any more.
async fn forgotten(cluster: &Cluster) {
    let updates = cluster.objects().updates(&cluster.task.organisation.to_string(), "test");
    while !updates.rounds().await.expect("the object storage can be read").is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_continues_at_another_process() {
    let spec = TaskSpec::synthetic(&WIDTHS, 1, 1);
    let Some(mut cluster) = Cluster::start(COORDINATOR, &spec, PROCESSES, SEED).await else { return };
    let mut client = RawClient::enrolled(cluster.member(0), &cluster.task.token).await;
    let assignment = patiently("an assignment", client.await_assignment()).await;
    let id = assignment.assignment_id;
    let update = TestUpdate::of(&cluster.task, &assignment).bytes();
    // An odd place inside a value.
    let half = update.len() / 2 + 1;

    let status: UploadStatus = client.send(&client.upload_part(id, &update, 0..half)).await.json();
    assert_eq!(status.received_bytes, half as u64);
    client.endpoint = cluster.member(1).clone();
    let received = patiently("the first half at the second process", async {
        loop {
            match client.upload_status(id).await.received_bytes {
                0 => tokio::time::sleep(Duration::from_millis(20)).await,
                received => return received,
            }
        }
    });
    let received = received.await as usize;
    assert_eq!(received, half / 4 * 4, "whole values are handed over");
    cluster.kill(0).await;
    let status: UploadStatus =
        client.send(&client.upload_part(id, &update, received..update.len())).await.json();
    assert_eq!(status.state, UploadState::Accepted);
    client.endpoint = cluster.member(2).clone();
    assert_eq!(client.upload_status(id).await.state, UploadState::Accepted);

    let is_committed = |line: &str| fields_of(line, "round committed").map(drop);
    patiently("the commit", cluster.log.wait_for(0, is_committed)).await;
    cluster.stop().await;
    let storage = cluster.storage().await;
    let sent = BTreeMap::from([(id, update.into())]);
    assert_eq!(verify_rounds(&storage, &cluster.blobs(), &cluster.task, &sent).await.len(), 1);
}

/// Every process is replaced, one after the other, while a round is reporting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_in_flight_outlives_every_process_that_began_it() {
    let spec = TaskSpec::synthetic(&WIDTHS, 3, 1);
    let Some(mut cluster) = Cluster::start(COORDINATOR, &spec, PROCESSES, SEED).await else { return };
    let mut clients = Vec::new();
    for number in 0..3 {
        clients.push(RawClient::enrolled(cluster.member(number), &cluster.task.token).await);
    }
    let waits = clients.iter().map(RawClient::await_assignment);
    let assignments = patiently("three assignments", futures::future::join_all(waits)).await;
    let update = |number: usize| TestUpdate::of(&cluster.task, &assignments[number]).bytes();
    let updates: Vec<Vec<u8>> = (0..3).map(update).collect();
    let id = |number: usize| assignments[number].assignment_id;

    // One client has reported, one has sent a half, and one nothing yet.
    let status: UploadStatus = clients[0].send(&clients[0].upload(id(0), &updates[0])).await.json();
    assert_eq!(status.state, UploadState::Accepted);
    let half = updates[1].len() / 2;
    clients[1].send(&clients[1].upload_part(id(1), &updates[1], 0..half)).await;
    for number in 0..PROCESSES {
        cluster.stop_one(number).await;
        cluster.lose_disk(number);
        cluster.restart(number).await;
    }
    for number in 1..3 {
        let (client, update) = (&clients[number], &updates[number]);
        let received = client.upload_status(id(number)).await.received_bytes as usize;
        let rest = client.upload_part(id(number), update, received..update.len());
        let status: UploadStatus = client.send(&rest).await.json();
        assert_eq!(status.state, UploadState::Accepted);
    }
    let is_committed = |line: &str| fields_of(line, "round committed").map(drop);
    patiently("the commit", cluster.log.wait_for(0, is_committed)).await;
    cluster.stop().await;
    let storage = cluster.storage().await;
    let sent = (0..3).map(|number| (id(number), updates[number].clone().into())).collect();
    let rounds = verify_rounds(&storage, &cluster.blobs(), &cluster.task, &sent).await;
    assert_eq!((rounds.len(), rounds[0].accepted.len()), (1, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_waits_for_an_object_storage_that_fails() {
    let spec = TaskSpec::synthetic(&WIDTHS, 1, 1);
    let Some(mut cluster) = Cluster::start(COORDINATOR, &spec, 1, SEED).await else { return };
    let client = RawClient::enrolled(&cluster.endpoint, &cluster.task.token).await;
    let assignment = patiently("an assignment", client.await_assignment()).await;
    let id = assignment.assignment_id;
    let update = TestUpdate::of(&cluster.task, &assignment).bytes();

    cluster.s3.fail(true);
    let answer = client.send(&client.upload(id, &update)).await;
    assert_eq!(answer.code(), Some(ErrorCode::Overloaded), "{}", answer.text());
    let ready = cluster.endpoint.send(&folkmoot_tests::raw::RawRequest::new("GET", "/readyz")).await;
    assert_eq!(ready.status, 503, "{}", ready.text());
    assert!(ready.text().contains("the store of models and weights does not answer"), "{}", ready.text());
    for shed in [&answer, &ready] {
        assert!(shed.headers.contains_key("retry-after"), "{:?}", shed.headers);
    }
    let status = client.upload_status(id).await;
    assert_eq!((status.state, status.received_bytes), (UploadState::Partial, update.len() as u64));

    cluster.s3.fail(false);
    let end = client.upload_part(id, &update, update.len()..update.len());
    let status: UploadStatus = client.send(&end).await.json();
    assert_eq!(status.state, UploadState::Accepted);
    let is_committed = |line: &str| fields_of(line, "round committed").map(drop);
    patiently("the commit", cluster.log.wait_for(0, is_committed)).await;
    cluster.stop().await;
    let storage = cluster.storage().await;
    let sent = BTreeMap::from([(id, update.into())]);
    assert_eq!(verify_rounds(&storage, &cluster.blobs(), &cluster.task, &sent).await.len(), 1);
}
