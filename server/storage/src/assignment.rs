use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use folkmoot_coordinator::{
    round::Purpose,
    scheduling::{Outstanding, ReportCounts},
    selection::TokenCounts,
};
use folkmoot_protocol::{
    AssignmentId, ClientId, ErrorCode, OrganisationId, RoundId, TaskId, Timestamp, UpdateDigest,
    messages::{AbortReason, ReportRequest},
    update::UpdateMetrics,
};
use serde::{Deserialize, Serialize};

use crate::StorageError;

/// One client's part in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct AssignmentRecord {
    /// Its id.
    pub id: AssignmentId,
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// The task.
    pub task_id: TaskId,
    /// The round.
    pub round_id: RoundId,
    /// The round's number.
    pub round_number: u64,
    /// What the round is for.
    pub purpose: Purpose,
    /// The client.
    pub client_id: ClientId,
    /// The model version from which the client starts.
    pub base_version: u64,
    /// When it was given.
    pub created_at: Timestamp,
    /// When it expires.
    pub deadline: Timestamp,
    /// The client's values of the attributes by which an evaluation tells clients apart; of a training, over what kind of
    /// network it is.
    pub slices: BTreeMap<String, String>,
    /// What has become of it.
    pub status: AssignmentStatus,
}

/// What has become of an assignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AssignmentStatus {
    /// An update may still come.
    Outstanding,
    /// Its update counts.
    Accepted {
        /// The update's digest, by which a repetition is recognised.
        digest: UpdateDigest,
        /// The bytes that it came in.
        #[serde(default)]
        bytes: u64,
    },
    /// It brings no update.
    Dropped {
        /// Why.
        reason: DropReason,
    },
}

/// Why an assignment brought no update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DropReason {
    /// The round closed first, or the deadline passed.
    Expired,
    /// It fell too far behind the others.
    LeftBehind,
    /// The client gave it up.
    Aborted {
        /// Why.
        reason: AbortReason,
        /// More, for humans.
        detail: String,
    },
    /// Its update was refused.
    Refused {
        /// Why.
        code: ErrorCode,
    },
}

/// An update that counts. Its bytes are in the round log.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedUpdate {
    /// The assignment that it answers.
    pub assignment_id: AssignmentId,
    /// The round in which the assignment was given, and in whose log the bytes are.
    pub round_id: RoundId,
    /// The version from which the client started.
    pub base_version: u64,
    /// The BLAKE3 of its bytes.
    pub digest: UpdateDigest,
    /// Its bytes.
    pub bytes: u64,
    /// How its values travelled: a codec, as tasks name it, or `float32`.
    pub codec: String,
    /// Its weight.
    pub weight: u64,
    /// What the training measured.
    pub metrics: UpdateMetrics,
    /// When it was accepted.
    pub accepted_at: Timestamp,
}

/// What an update that counts cost.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateTraffic {
    /// How its values travelled: a codec, as tasks name it, or `float32`.
    pub codec: String,
    /// What its assignment says of the client: [`AssignmentRecord::slices`].
    pub slices: BTreeMap<String, String>,
    /// Its bytes.
    pub bytes: u64,
    /// What the client said of the work.
    pub report: Option<ReportRequest>,
}

/// What became of an attempt to accept an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptOutcome {
    /// It counts from now on.
    Accepted,
    /// The same update was accepted before; it counts once.
    AlreadyAccepted,
    /// Another update was accepted for this assignment.
    Conflict,
    /// The assignment was dropped.
    Closed,
    /// The open round takes no more just now, and the assignment goes on into the next: try again.
    Later,
}

/// What became of an attempt to drop an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseOutcome {
    /// It is dropped now.
    Dropped,
    /// It was dropped or accepted before, and stays so.
    Unchanged,
}

/// Assignments and the updates that answer them.
#[async_trait]
pub trait AssignmentRepository {
    /// Finds an assignment.
    async fn assignment(&self, id: AssignmentId) -> Result<Option<AssignmentRecord>, StorageError>;

    /// Finds the client's outstanding assignment.
    async fn outstanding_assignment(
        &self,
        client_id: ClientId,
    ) -> Result<Option<AssignmentRecord>, StorageError>;

    /// Lists a round's assignments, by id.
    async fn assignments(&self, round_id: RoundId) -> Result<Vec<AssignmentRecord>, StorageError>;

    /// Accepts an update, in one transaction: it counts in the task's open round of its purpose if and only if the
    /// assignment is outstanding and that round takes updates, whatever else happens at the same time.
    async fn accept_update(&self, update: &AcceptedUpdate) -> Result<AcceptOutcome, StorageError>;

    /// Drops an assignment if it is outstanding.
    async fn drop_assignment(
        &self,
        id: AssignmentId,
        reason: &DropReason,
        now: Timestamp,
    ) -> Result<CloseOutcome, StorageError>;

    /// Counts a round's assignments by what has become of them.
    async fn report_counts(&self, round_id: RoundId) -> Result<ReportCounts, StorageError>;

    /// Counts what has come to a round in which assignments of earlier rounds count, too: the updates that count
    /// in it, the task's outstanding assignments that train, and those of this round that were dropped.
    async fn flow_counts(&self, task_id: TaskId, round_id: RoundId) -> Result<ReportCounts, StorageError>;

    /// Counts by token the clients whose updates count in a round, and those of the task's outstanding assignments that
    /// train, of which assignments of earlier rounds are some.
    async fn flow_tokens(&self, task_id: TaskId, round_id: RoundId) -> Result<TokenCounts, StorageError>;

    /// Lists the task's outstanding assignments that train, by id.
    async fn outstanding(&self, task_id: TaskId) -> Result<Vec<Outstanding>, StorageError>;

    /// Lists the assignments whose updates are still needed: those under way, and those accepted in an open
    /// round; each with the round in whose log they are.
    async fn needed_logs(&self) -> Result<BTreeSet<(RoundId, AssignmentId)>, StorageError>;

    /// Lists a round's accepted updates, by assignment id.
    async fn accepted_updates(&self, round_id: RoundId) -> Result<Vec<AcceptedUpdate>, StorageError>;

    /// Lists what the updates that count in a round cost, by assignment id.
    async fn traffic(&self, round_id: RoundId) -> Result<Vec<UpdateTraffic>, StorageError>;

    /// Keeps what a client said of how the work went; the first report stays.
    async fn record_report(
        &self,
        id: AssignmentId,
        report: &ReportRequest,
        now: Timestamp,
    ) -> Result<(), StorageError>;

    /// Returns what was reported for an assignment.
    async fn report(&self, id: AssignmentId) -> Result<Option<ReportRequest>, StorageError>;
}
