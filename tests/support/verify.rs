//! Verifies the rounds of a task, given the updates that a test has sent. Reads the database and the blob store.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use folkmoot_coordinator::round::{AbandonReason, Phase};
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{AssignmentId, RoundId, UpdateDigest};
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRepository, AssignmentStatus, ModelVersionRepository, RoundRepository,
    SqlStorage,
};

use crate::{oracle::next_weights, task::TestTask, update::read_update};

/// The maximum number of rounds in a test.
const ROUNDS_MAX: u32 = 1000;

/// A round that has ended.
#[derive(Clone, Debug)]
pub struct EndedRound {
    /// The round's id.
    pub id: RoundId,
    /// The round's number.
    pub number: u64,
    /// The assignments whose updates were accepted.
    pub accepted: BTreeSet<AssignmentId>,
    /// The reason why the round was abandoned; `None` if it committed.
    pub abandoned: Option<AbandonReason>,
}

/// Verifies the rounds of a task while it runs: each round once, after it has ended.
pub struct Verifier<'a> {
    task: &'a TestTask,
    /// The expected weights of `version`.
    weights: Vec<f32>,
    version: u64,
    /// The rounds that were verified, in their order.
    pub ended: Vec<EndedRound>,
}

impl<'a> Verifier<'a> {
    /// Creates a verifier of all rounds of a task.
    pub fn new(task: &'a TestTask) -> Self {
        Self { task, weights: task.initial_weights.clone(), version: 0, ended: Vec::new() }
    }

    /// Verifies the rounds that have ended since the last call, at most 1,000, as [`verify_rounds`] does.
    ///
    /// # Panics
    /// If the verification fails. The message names the round and the difference.
    pub async fn advance(
        &mut self,
        storage: &SqlStorage,
        blobs: &BlobStore,
        sent: &BTreeMap<AssignmentId, Bytes>,
    ) {
        let Self { task, weights, version, ended } = self;
        let last = ended.last().map_or(0, |round| round.number);
        let mut rounds = storage.rounds(task.id, ROUNDS_MAX, None).await.expect("the database can be read");
        rounds.reverse();
        rounds.retain(|record| record.round.phase.is_final() && record.round.number > last);
        for record in rounds {
            let round = &record.round;
            assert_eq!(round.number, ended.len() as u64 + 1, "every round ends before the next one opens");
            let updates = storage.accepted_updates(round.id).await.expect("the database can be read");
            let abandoned = match round.phase {
                Phase::Committed { accepted, version: committed, .. } => {
                    assert_eq!(
                        (round.base_version, committed),
                        (*version, *version + 1),
                        "round {}",
                        round.number
                    );
                    assert_eq!(accepted, updates.len() as u64, "round {}", round.number);
                    verify_accepted(storage, round.id, &updates, sent).await;
                    *weights = expected_weights(task, weights, &updates, sent);
                    *version += 1;
                    verify_version(storage, blobs, task, *version, weights).await;
                    None
                }
                Phase::Abandoned { reason, .. } => Some(reason),
                _ => None,
            };
            let accepted = updates.iter().map(|update| update.assignment_id).collect();
            ended.push(EndedRound { id: round.id, number: round.number, accepted, abandoned });
        }
    }
}

/// Verifies every round that has ended against the updates that the test has sent. Each accepted update must have been
/// sent, and each client has at most one. Each model version must equal the oracle's result bit for bit.
///
/// # Panics
/// If the verification fails. The message names the round and the difference.
pub async fn verify_rounds(
    storage: &SqlStorage,
    blobs: &BlobStore,
    task: &TestTask,
    sent: &BTreeMap<AssignmentId, Bytes>,
) -> Vec<EndedRound> {
    let mut verifier = Verifier::new(task);
    verifier.advance(storage, blobs, sent).await;
    verifier.ended
}

async fn verify_accepted(
    storage: &SqlStorage,
    round: RoundId,
    updates: &[AcceptedUpdate],
    sent: &BTreeMap<AssignmentId, Bytes>,
) {
    let assignments = storage.assignments(round).await.expect("the database can be read");
    let mut clients = BTreeSet::new();
    for update in updates {
        let bytes = sent.get(&update.assignment_id).expect("an accepted update was sent by the test");
        assert_eq!(
            update.digest,
            UpdateDigest::of(bytes),
            "the accepted update differs from the one that was sent"
        );
        let assignment = assignments.iter().find(|assignment| assignment.id == update.assignment_id);
        let assignment = assignment.expect("an update counts in the round of its assignment");
        assert_eq!(
            assignment.status,
            AssignmentStatus::Accepted { digest: update.digest, bytes: update.bytes }
        );
        assert!(
            clients.insert(assignment.client_id),
            "client {} has two accepted updates",
            assignment.client_id
        );
    }
    let accepted = assignments.iter().filter(|one| matches!(one.status, AssignmentStatus::Accepted { .. }));
    assert_eq!(accepted.count(), updates.len(), "every accepted assignment has its update");
}

fn expected_weights(
    task: &TestTask,
    base: &[f32],
    updates: &[AcceptedUpdate],
    sent: &BTreeMap<AssignmentId, Bytes>,
) -> Vec<f32> {
    let updates: Vec<_> =
        updates.iter().map(|update| read_update(task, &sent[&update.assignment_id])).collect();
    next_weights(base, &updates, &task.grid, task.server_learning_rate)
}

async fn verify_version(
    storage: &SqlStorage,
    blobs: &BlobStore,
    task: &TestTask,
    number: u64,
    weights: &[f32],
) {
    let version = storage.model_version(task.id, number).await.expect("the database can be read");
    let version = version.unwrap_or_else(|| panic!("version {number} is missing"));
    let bytes = blobs.get(version.weights).await.expect("a version's weights are there");
    let expected: Vec<u8> = weights.iter().flat_map(|value| value.to_le_bytes()).collect();
    let first = bytes.chunks(4).zip(expected.chunks(4)).position(|(given, expected)| given != expected);
    assert!(bytes == expected, "version {number} differs from the oracle, first at parameter {first:?}");
}
