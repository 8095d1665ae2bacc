//! Tests that a coordinator that is saved in the middle of a round ends this round after it was restored, in the same or
//! in other places.

use std::{collections::BTreeMap, path::Path};

use bytes::Bytes;
use folkmoot_backup::{BackupSummary, Places, restore, save};
use folkmoot_objects::{BlobStore, Objects};
use folkmoot_protocol::{
    AssignmentId,
    messages::{UploadState, UploadStatus},
};
use folkmoot_storage::SqlStorage;
use folkmoot_test_postgres::TestPostgres;
use folkmoot_tests::{
    cluster::Cluster,
    coordinator_process::CoordinatorConfig,
    deployment::Deployment,
    log::fields_of,
    patience::patiently,
    raw::Endpoint,
    raw_client::RawClient,
    task::{TaskSpec, TestTask, now},
    test_s3::TestS3,
    update::TestUpdate,
    verify::verify_rounds,
};
use futures::future::join_all;
use tempfile::TempDir;

use crate::COORDINATOR;

const SEED: u64 = 20_261_129;
const CLIENTS: u64 = 3;
const WIDTHS: [usize; 3] = [20, 30, 5];

fn spec() -> TaskSpec {
    TaskSpec::synthetic(&WIDTHS, CLIENTS, 1)
}

fn places(data: &Path) -> Places {
    Places { data: data.to_owned(), database: None, objects: None, variables: Vec::new() }
}

async fn restored(backup: &Path, to: &Places) -> BackupSummary {
    restore(backup, to, "restore-1").await.expect("the backup can be restored")
}

/// A round in which all clients but one have reported.
struct OpenRound {
    task: TestTask,
    last: RawClient,
    last_id: AssignmentId,
    sent: BTreeMap<AssignmentId, Bytes>,
}

impl OpenRound {
    async fn begin(task: &TestTask, endpoint: &Endpoint) -> Self {
        let clients = (0..CLIENTS).map(|_| RawClient::enrolled(endpoint, &task.token));
        let mut clients = join_all(clients).await;
        let assignments = join_all(clients.iter().map(RawClient::await_assignment));
        let assignments = patiently("the assignments", assignments).await;
        let update = |assignment| Bytes::from(TestUpdate::of(task, assignment).bytes());
        let sent: BTreeMap<_, _> =
            assignments.iter().map(|assignment| (assignment.assignment_id, update(assignment))).collect();
        let last = clients.pop().expect("there are several");
        let last_id = assignments.last().expect("there are several").assignment_id;
        let round = Self { task: task.clone(), last, last_id, sent };
        for (client, assignment) in clients.iter().zip(&assignments) {
            round.report(client, assignment.assignment_id).await;
        }
        round
    }

    async fn report(&self, client: &RawClient, id: AssignmentId) {
        let status: UploadStatus = client.send(&client.upload(id, &self.sent[&id])).await.json();
        assert_eq!(status.state, UploadState::Accepted);
    }

    /// Lets the last client report to a restored coordinator, with the key and the assignment that it has.
    async fn end(mut self, deployment: &mut Deployment, storage: &SqlStorage, blobs: &BlobStore) {
        self.last.endpoint = deployment.endpoint.clone();
        self.report(&self.last, self.last_id).await;
        let is_committed = |line: &str| fields_of(line, "round committed").map(drop);
        patiently("the commit", deployment.log.wait_for(0, is_committed)).await;
        deployment.stop().await;
        let rounds = verify_rounds(storage, blobs, &self.task, &self.sent).await;
        assert_eq!(rounds.len(), 1);
        assert_eq!(rounds[0].accepted.len() as u64, CLIENTS);
    }
}

/// Saves a SQLite coordinator in the middle of a round.
async fn saved_from_sqlite(scratch: &TempDir) -> OpenRound {
    let mut deployment = Deployment::start(COORDINATOR, &spec(), |_| {}).await;
    let round = OpenRound::begin(&deployment.task, &deployment.endpoint).await;
    deployment.stop().await;
    let saved = save(&places(deployment.data()), &scratch.path().join("backup"), now()).await;
    assert_eq!(saved.expect("it is stopped").updates as u64, CLIENTS - 1);
    round
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_continues_in_a_restored_folder() {
    let [scratch, target] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let round = saved_from_sqlite(&scratch).await;
    restored(&scratch.path().join("backup"), &places(target.path())).await;
    let mut deployment = Deployment::resume(COORDINATOR, round.task.clone(), target, |_| {}).await;
    let (storage, blobs) = (deployment.storage().await, deployment.blobs());
    round.end(&mut deployment, &storage, &blobs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_continues_in_postgresql() {
    let Some(postgres) = TestPostgres::start() else { return };
    let [scratch, target] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let round = saved_from_sqlite(&scratch).await;
    let url = postgres.database();
    let to = Places { database: Some(url.clone()), ..places(target.path()) };
    restored(&scratch.path().join("backup"), &to).await;
    let tune = |config: &mut CoordinatorConfig| {
        config.database = Some(url.clone());
    };
    let mut deployment = Deployment::resume(COORDINATOR, round.task.clone(), target, tune).await;
    let storage = SqlStorage::connect(&url, Default::default()).await.unwrap();
    let blobs = deployment.blobs();
    round.end(&mut deployment, &storage, &blobs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_continues_in_any_process_after_a_move_to_an_object_storage() {
    let Some(postgres) = TestPostgres::start() else { return };
    let s3 = TestS3::start().await;
    let [scratch, target, another] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let round = saved_from_sqlite(&scratch).await;
    let url = postgres.database();
    let to = Places {
        database: Some(url.clone()),
        objects: Some(s3.url()),
        variables: s3.os_variables(),
        ..places(target.path())
    };
    restored(&scratch.path().join("backup"), &to).await;
    // This process has an empty data folder.
    let tune = |config: &mut CoordinatorConfig| {
        config.database = Some(url.clone());
        config.objects = Some(s3.url());
        config.variables = s3.variables();
        config.certificate = Some(target.path().to_owned());
    };
    let mut deployment = Deployment::resume(COORDINATOR, round.task.clone(), another, tune).await;
    let storage = SqlStorage::connect(&url, Default::default()).await.unwrap();
    let blobs = Objects::open(&s3.url(), s3.variables()).unwrap().blobs();
    round.end(&mut deployment, &storage, &blobs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_processes_are_saved_and_continue_in_a_folder() {
    let Some(mut cluster) = Cluster::start(COORDINATOR, &spec(), 2, SEED).await else { return };
    let [scratch, target] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let round = OpenRound::begin(&cluster.task, &cluster.endpoint).await;
    let from = Places {
        database: Some(cluster.database().to_owned()),
        objects: Some(cluster.s3.url()),
        variables: cluster.s3.os_variables(),
        ..places(&cluster.data(0))
    };
    let backup = scratch.path().join("backup");
    let saved = save(&from, &backup, now()).await.unwrap();
    assert_eq!(saved.updates as u64, CLIENTS - 1);
    cluster.stop().await;
    assert_eq!(restored(&backup, &places(target.path())).await, saved);
    let mut deployment = Deployment::resume(COORDINATOR, round.task.clone(), target, |_| {}).await;
    let (storage, blobs) = (deployment.storage().await, deployment.blobs());
    round.end(&mut deployment, &storage, &blobs).await;
}
