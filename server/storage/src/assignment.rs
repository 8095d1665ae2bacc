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

use crate::{ApiKeyId, StorageError};
use folkmoot_aggregation::Extent;
use folkmoot_objects::UpdatePlace;

/// One client's part in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct AssignmentRecord {
    /// The assignment's id.
    pub id: AssignmentId,
    /// The organisation of the task.
    pub organisation_id: OrganisationId,
    /// The task.
    pub task_id: TaskId,
    /// The round.
    pub round_id: RoundId,
    /// The round's number.
    pub round_number: u64,
    /// The purpose of the round.
    pub purpose: Purpose,
    /// The client.
    pub client_id: ClientId,
    /// The model version from which the client starts.
    pub base_version: u64,
    /// When the assignment was created.
    pub created_at: Timestamp,
    /// When the assignment expires.
    pub deadline: Timestamp,
    /// For an evaluation, the client's values of the attributes that define slices. For training, the client's network
    /// class.
    pub slices: BTreeMap<String, String>,
    /// The current status.
    pub status: AssignmentStatus,
}

/// The status of an assignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AssignmentStatus {
    /// An update may still arrive.
    Outstanding,
    /// The assignment's update was accepted.
    Accepted {
        /// The update's digest, for recognising a repeated upload.
        digest: UpdateDigest,
        /// The size of the upload in bytes.
        #[serde(default)]
        bytes: u64,
    },
    /// The assignment was dropped without an update.
    Dropped {
        /// The reason.
        reason: DropReason,
    },
}

/// The reason why an assignment was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DropReason {
    /// The round closed first, or the deadline passed.
    Expired,
    /// The client's work became too stale: newer versions were committed meanwhile.
    LeftBehind,
    /// The client aborted the assignment.
    Aborted {
        /// The reason.
        reason: AbortReason,
        /// Details for people.
        detail: String,
    },
    /// The coordinator refused the update.
    Refused {
        /// The reason.
        code: ErrorCode,
    },
}

/// An accepted update. Its bytes are in the round log.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedUpdate {
    /// The update's assignment.
    pub assignment_id: AssignmentId,
    /// The round of the assignment. The update's bytes are in the log of this round.
    pub round_id: RoundId,
    /// The version from which the client started.
    pub base_version: u64,
    /// The BLAKE3 digest of the update's bytes.
    pub digest: UpdateDigest,
    /// The update's size in bytes.
    pub bytes: u64,
    /// The encoding of the update's values: the name of a codec, as in task descriptions, or `float32`.
    pub codec: String,
    /// The update's weight in the mean.
    pub weight: u64,
    /// The metrics of the training.
    pub metrics: UpdateMetrics,
    /// When the update was accepted.
    pub accepted_at: Timestamp,
    /// The update's place in the object storage; `None` if the round log is the place of updates.
    pub place: Option<UpdatePlace>,
    /// The edge aggregator that holds the update; `None` if the coordinator has it.
    pub held: Option<HeldUpdate>,
}

/// An update whose bytes an edge aggregator holds. The coordinator gets only the sum of such updates.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldUpdate {
    /// The API key of the aggregator.
    pub by: ApiKeyId,
    /// The update's size, as the aggregator has measured it.
    pub extent: Extent,
}

/// The sum of the updates that an edge aggregator holds for a closed round: a question, and later the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialSumRecord {
    /// The organisation that owns the task and the aggregator's key.
    pub organisation_id: OrganisationId,
    /// The round.
    pub round_id: RoundId,
    /// The API key of the aggregator.
    pub aggregator: ApiKeyId,
    /// The updates to sum, as JSON for the aggregator.
    pub question: String,
    /// The name of the segment in the round log that gets the answer. No assignment has this id.
    pub segment: AssignmentId,
    /// When the aggregator was asked.
    pub asked_at: Timestamp,
    /// The sum; `None` before it has arrived.
    pub answer: Option<PartialSumAnswer>,
}

/// A partial sum that has arrived. Its bytes are a segment of the round log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialSumAnswer {
    /// The BLAKE3 digest of the bytes.
    pub digest: UpdateDigest,
    /// The place in the object storage; `None` if the round log is the place of updates.
    pub place: Option<UpdatePlace>,
}

/// The size and encoding of an accepted update, and the client's report about the work.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateTraffic {
    /// The encoding of the update's values: the name of a codec, as in task descriptions, or `float32`.
    pub codec: String,
    /// The [`AssignmentRecord::slices`] of the update's assignment.
    pub slices: BTreeMap<String, String>,
    /// The update's size in bytes.
    pub bytes: u64,
    /// The client's report about the work.
    pub report: Option<ReportRequest>,
}

/// The result of an attempt to accept an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptOutcome {
    /// The update is now accepted.
    Accepted,
    /// The same update was accepted before. It is combined only once.
    AlreadyAccepted,
    /// A different update was accepted for this assignment before.
    Conflict,
    /// The assignment was dropped before.
    Closed,
    /// The open round cannot accept another update now, but the assignment stays outstanding. Try again in the next
    /// round.
    Later,
}

/// The result of an attempt to drop an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseOutcome {
    /// The assignment is now dropped.
    Dropped,
    /// The assignment was dropped or accepted before, and is unchanged.
    Unchanged,
}

/// Stores assignments and their updates.
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

    /// Accepts an update, in one transaction. The task's open round of the same purpose then combines the update. It is
    /// accepted only if the assignment is outstanding and that round accepts updates, even under concurrent calls.
    async fn accept_update(&self, update: &AcceptedUpdate) -> Result<AcceptOutcome, StorageError>;

    /// Drops an assignment if it is outstanding.
    async fn drop_assignment(
        &self,
        id: AssignmentId,
        reason: &DropReason,
        now: Timestamp,
    ) -> Result<CloseOutcome, StorageError>;

    /// Counts a round's assignments by status.
    async fn report_counts(&self, round_id: RoundId) -> Result<ReportCounts, StorageError>;

    /// Returns the counts of a flow's round. The counts are the updates that this round has accepted, the task's
    /// outstanding training assignments (from any round), and the dropped assignments of this round.
    async fn flow_counts(&self, task_id: TaskId, round_id: RoundId) -> Result<ReportCounts, StorageError>;

    /// Counts clients by enrolment token: the clients whose updates this round has accepted, and those with outstanding
    /// training assignments of the task, from any round.
    async fn flow_tokens(&self, task_id: TaskId, round_id: RoundId) -> Result<TokenCounts, StorageError>;

    /// Lists the task's outstanding training assignments, by id.
    async fn outstanding(&self, task_id: TaskId) -> Result<Vec<Outstanding>, StorageError>;

    /// Lists the assignments whose updates are still needed: outstanding assignments, and those whose updates an open
    /// round has accepted. Each comes with the round whose log contains the update's bytes.
    async fn needed_logs(&self) -> Result<BTreeSet<(RoundId, AssignmentId)>, StorageError>;

    /// Lists a round's accepted updates, by assignment id.
    async fn accepted_updates(&self, round_id: RoundId) -> Result<Vec<AcceptedUpdate>, StorageError>;

    /// Lists the traffic of the updates that a round has accepted, by assignment id.
    async fn traffic(&self, round_id: RoundId) -> Result<Vec<UpdateTraffic>, StorageError>;

    /// Stores a client's report about its work. If the assignment already has a report, that report is kept.
    async fn record_report(
        &self,
        id: AssignmentId,
        report: &ReportRequest,
        now: Timestamp,
    ) -> Result<(), StorageError>;

    /// Returns the client's report for an assignment; `None` if there is none.
    async fn report(&self, id: AssignmentId) -> Result<Option<ReportRequest>, StorageError>;
}
