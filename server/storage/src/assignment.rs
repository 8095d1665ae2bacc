use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
};

use folkmoot_coordinator::{
    round::Purpose,
    scheduling::{Outstanding, ReportCounts},
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
pub trait AssignmentRepository {
    /// Finds an assignment.
    fn assignment(
        &self,
        id: AssignmentId,
    ) -> impl Future<Output = Result<Option<AssignmentRecord>, StorageError>> + Send;

    /// Finds the client's outstanding assignment.
    fn outstanding_assignment(
        &self,
        client_id: ClientId,
    ) -> impl Future<Output = Result<Option<AssignmentRecord>, StorageError>> + Send;

    /// Lists a round's assignments, by id.
    fn assignments(
        &self,
        round_id: RoundId,
    ) -> impl Future<Output = Result<Vec<AssignmentRecord>, StorageError>> + Send;

    /// Accepts an update, in one transaction: it counts in the task's open round of its purpose if and only if the
    /// assignment is outstanding and that round takes updates, whatever else happens at the same time.
    fn accept_update(
        &self,
        update: &AcceptedUpdate,
    ) -> impl Future<Output = Result<AcceptOutcome, StorageError>> + Send;

    /// Drops an assignment if it is outstanding.
    fn drop_assignment(
        &self,
        id: AssignmentId,
        reason: &DropReason,
        now: Timestamp,
    ) -> impl Future<Output = Result<CloseOutcome, StorageError>> + Send;

    /// Counts a round's assignments by what has become of them.
    fn report_counts(
        &self,
        round_id: RoundId,
    ) -> impl Future<Output = Result<ReportCounts, StorageError>> + Send;

    /// Counts what has come to a round in which assignments of earlier rounds count, too: the updates that count
    /// in it, and the task's outstanding assignments that train.
    fn flow_counts(
        &self,
        task_id: TaskId,
        round_id: RoundId,
    ) -> impl Future<Output = Result<ReportCounts, StorageError>> + Send;

    /// Lists the task's outstanding assignments that train, by id.
    fn outstanding(
        &self,
        task_id: TaskId,
    ) -> impl Future<Output = Result<Vec<Outstanding>, StorageError>> + Send;

    /// Lists the assignments whose updates are still needed: those under way, and those accepted in an open
    /// round; each with the round in whose log they are.
    fn needed_logs(
        &self,
    ) -> impl Future<Output = Result<BTreeSet<(RoundId, AssignmentId)>, StorageError>> + Send;

    /// Lists a round's accepted updates, by assignment id.
    fn accepted_updates(
        &self,
        round_id: RoundId,
    ) -> impl Future<Output = Result<Vec<AcceptedUpdate>, StorageError>> + Send;

    /// Lists what the updates that count in a round cost, by assignment id.
    fn traffic(
        &self,
        round_id: RoundId,
    ) -> impl Future<Output = Result<Vec<UpdateTraffic>, StorageError>> + Send;

    /// Keeps what a client said of how the work went; the first report stays.
    fn record_report(
        &self,
        id: AssignmentId,
        report: &ReportRequest,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StorageError>> + Send;

    /// Returns what was reported for an assignment.
    fn report(
        &self,
        id: AssignmentId,
    ) -> impl Future<Output = Result<Option<ReportRequest>, StorageError>> + Send;
}
