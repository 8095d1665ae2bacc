use std::future::Future;

use folkmoot_coordinator::{round::Round, task::TaskState};
use folkmoot_protocol::{OrganisationId, RoundId, TaskId, Timestamp};

use crate::{AcceptedUpdate, AssignmentRecord, ModelVersionRecord, StorageError};

/// A round, with the revision by which a writer notices that another was faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRecord {
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// The round.
    pub round: Round,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Counts the changes, from 0.
    pub revision: u64,
}

/// Rounds. Every method is one transaction. A method that takes a `RoundRecord` stores `record.round` if the
/// stored revision is still `record.revision`, and increments it.
pub trait RoundRepository {
    /// Opens a round.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the task has an open round, or one of this number.
    fn open_round(&self, record: &RoundRecord) -> impl Future<Output = Result<(), StorageError>> + Send;

    /// Finds the task's open round (its phase is not final).
    fn unfinished_round(
        &self,
        task_id: TaskId,
    ) -> impl Future<Output = Result<Option<RoundRecord>, StorageError>> + Send;

    /// Finds an organisation's round.
    fn round(
        &self,
        organisation_id: OrganisationId,
        id: RoundId,
    ) -> impl Future<Output = Result<Option<RoundRecord>, StorageError>> + Send;

    /// Lists a task's rounds, newest first, at most `limit`, below number `before` when given.
    fn rounds(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> impl Future<Output = Result<Vec<RoundRecord>, StorageError>> + Send;

    /// Counts the task's rounds: `(all, committed)`.
    fn round_counts(&self, task_id: TaskId) -> impl Future<Output = Result<(u64, u64), StorageError>> + Send;

    /// Stores a round that began to report, with its assignments, and takes their clients out of the pool.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile, or one of the clients was given
    /// another assignment or has left the pool; nothing is stored then.
    fn begin_reporting(
        &self,
        record: &RoundRecord,
        assignments: &[AssignmentRecord],
    ) -> impl Future<Output = Result<(), StorageError>> + Send;

    /// Stores a round that closed its reporting, lets outstanding assignments expire, and returns the accepted
    /// updates, by assignment id. From then on no update is accepted. The caller's round is `Aggregating` and says how
    /// many it expects.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile, or if the number of accepted
    /// updates is not the one that `record.round` says (one came in between): read again and decide again.
    fn close_reporting(
        &self,
        record: &RoundRecord,
        now: Timestamp,
    ) -> impl Future<Output = Result<Vec<AcceptedUpdate>, StorageError>> + Send;

    /// Stores a committed round with the model version that it releases and, when that ends the task, the
    /// task's next state, in one transaction.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile or the version exists.
    fn commit_round(
        &self,
        record: &RoundRecord,
        version: &ModelVersionRecord,
        task_state: Option<TaskState>,
    ) -> impl Future<Output = Result<(), StorageError>> + Send;

    /// Stores an abandoned round and lets its outstanding assignments expire.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile.
    fn abandon_round(
        &self,
        record: &RoundRecord,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StorageError>> + Send;
}
