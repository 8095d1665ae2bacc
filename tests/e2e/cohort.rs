//! Drives the clients of a cohort. Each has a valid update.

use std::collections::BTreeMap;

use bytes::Bytes;
use folkmoot_protocol::{
    AssignmentId, ErrorCode,
    messages::{Assignment, UploadState, UploadStatus},
};
use folkmoot_round_log::RoundLog;
use folkmoot_tests::{
    deployment::Deployment,
    log::{fields_of, phase_of},
    patience::patiently,
    raw::Answer,
    raw_client::RawClient,
    update::TestUpdate,
    verify::{EndedRound, verify_rounds},
};
use tokio::task::JoinSet;

/// A client that was selected for a round.
#[derive(Clone)]
pub struct Member {
    pub client: RawClient,
    /// The client's assignment.
    pub assignment: Assignment,
    /// A valid update for the assignment.
    pub update: TestUpdate,
}

impl Member {
    /// Returns the id of the client's assignment.
    pub fn id(&self) -> AssignmentId {
        self.assignment.assignment_id
    }

    /// Uploads the valid update.
    pub async fn upload(&self) -> Answer {
        self.client.send(&self.client.upload(self.id(), &self.update.bytes())).await
    }

    /// Uploads the rest of the update, with retries, and asserts that the update is accepted.
    pub async fn upload_rest(&self) {
        let update = self.update.bytes();
        loop {
            let received = self.client.upload_status(self.id()).await.received_bytes as usize;
            let rest = self.client.upload_part(self.id(), &update, received..update.len());
            let answer = self.client.send(&rest).await;
            match answer.code() {
                // The coordinator may not have noticed yet that the old connection is broken.
                Some(ErrorCode::UploadBusy | ErrorCode::UploadOffsetMismatch) => {}
                Some(code) => panic!("the rest of an update was refused: {code}"),
                None => return assert_accepted(&answer),
            }
        }
    }
}

/// Asserts that a response reports the update as accepted.
#[track_caller]
pub fn assert_accepted(answer: &Answer) {
    assert_eq!(answer.json::<UploadStatus>().state, UploadState::Accepted);
}

/// Enrols `count` clients.
pub async fn enrol(deployment: &Deployment, count: usize) -> Vec<RawClient> {
    let mut clients = Vec::new();
    for _ in 0..count {
        clients.push(RawClient::enrolled(&deployment.endpoint, &deployment.task.token).await);
    }
    clients
}

/// Lets all clients check in at the same time, and waits until each has an assignment.
pub async fn draw(deployment: &Deployment, clients: &[RawClient]) -> Vec<Member> {
    let mut waiting = JoinSet::new();
    for (index, client) in clients.iter().cloned().enumerate() {
        waiting.spawn(async move { (index, client.await_assignment().await, client) });
    }
    let mut members = BTreeMap::new();
    while let Some(drawn) = patiently("the draw", waiting.join_next()).await {
        let (index, assignment, client) = drawn.expect("a check-in is answered");
        let update = TestUpdate::of(&deployment.task, &assignment);
        members.insert(index, Member { client, assignment, update });
    }
    members.into_values().collect()
}

/// Waits until the coordinator has released model version `number`.
pub async fn await_version(deployment: &Deployment, number: u64) {
    let is_released = |line: &str| {
        let version = fields_of(line, "round committed")?.get("version")?.as_u64()?;
        (version >= number).then_some(())
    };
    patiently("the next version", deployment.log.wait_for(0, is_released)).await;
}

/// Waits until a round is abandoned. Only the log from `line` on is searched.
pub async fn await_abandoned(deployment: &Deployment, line: usize) {
    let is_abandoned = |line: &str| (phase_of(line)? == "abandoned").then_some(());
    patiently("the end of a round", deployment.log.wait_for(line, is_abandoned)).await;
}

/// Returns the encoded updates of these members. The keys are the assignments.
pub fn sent_by<'a>(members: impl IntoIterator<Item = &'a Member>) -> BTreeMap<AssignmentId, Bytes> {
    members.into_iter().map(|member| (member.id(), Bytes::from(member.update.bytes()))).collect()
}

/// Verifies all rounds against the updates that were sent. Also verifies that the coordinator has deleted the updates
/// of ended rounds.
pub async fn verify(deployment: &Deployment, sent: &BTreeMap<AssignmentId, Bytes>) -> Vec<EndedRound> {
    let storage = deployment.storage().await;
    let rounds = verify_rounds(&storage, &deployment.blobs(), &deployment.task, sent).await;
    storage.close().await;
    await_forgotten(deployment, &rounds).await;
    rounds
}

/// Waits until the round log contains no ended round, because the coordinator deletes updates only after the commit.
pub async fn await_forgotten(deployment: &Deployment, ended: &[EndedRound]) {
    let log = RoundLog::local(deployment.data().join("round-log")).expect("the folder is there");
    let forgotten = async {
        loop {
            let kept = log.rounds().expect("the folder can be read");
            if ended.iter().all(|round| !kept.contains(&round.id)) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    patiently("the removal of updates that are no longer needed", forgotten).await;
}
