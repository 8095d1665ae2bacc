use async_trait::async_trait;
use folkmoot_coordinator::{
    participation::StartClocks, privacy::PopulationPrivacy, round::Round, task::TaskState,
};
use folkmoot_privacy::ledger::Charge;
use folkmoot_protocol::{AssignmentId, OrganisationId, PopulationName, RoundId, TaskId, Timestamp};

use crate::{AcceptedUpdate, AssignmentRecord, ModelVersionRecord, StorageError};

/// A round with its revision. The revision detects concurrent changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRecord {
    /// The organisation of the task.
    pub organisation_id: OrganisationId,
    /// The round.
    pub round: Round,
    /// The maximum number of updates that the round accepts; `None` for no limit.
    pub updates_max: Option<u64>,
    /// When the round was opened.
    pub created_at: Timestamp,
    /// The number of stored changes of the round, from 0.
    pub revision: u64,
}

/// The effect of a round's closing on its outstanding assignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The assignments expire with the round.
    Expires,
    /// The assignments stay outstanding, and the next round combines their updates.
    GoesOn,
}

/// A committed round, and the data that is stored in the same transaction.
#[derive(Clone, Copy, Debug)]
pub struct RoundCommit<'a> {
    /// The round.
    pub record: &'a RoundRecord,
    /// The released version.
    pub version: &'a ModelVersionRecord,
    /// The task's next state, if the task ends with this commit.
    pub task_state: Option<TaskState>,
    /// In a flow, the next round, which opens immediately. If `None`, the outstanding assignments expire.
    pub next: Option<&'a RoundRecord>,
    /// Outstanding assignments whose work became too stale.
    pub dropped: &'a [AssignmentId],
    /// The permission to release the version. If `None`, the ledger is neither checked nor charged.
    pub leave: Option<Leave<'a>>,
    /// The current time.
    pub now: Timestamp,
}

/// The permission to release a version: its cost, and the state of the population in which the budget allowed that
/// cost. If the state has changed, the permission is no longer valid.
#[derive(Clone, Copy, Debug)]
pub struct Leave<'a> {
    /// The population whose ledger is charged.
    pub population: &'a PopulationName,
    /// The population's privacy settings at the time of the check.
    pub privacy: PopulationPrivacy,
    /// The number of ledger entries at the time of the check.
    pub entries: u64,
    /// The cost of the version; `None` for a task without privacy. If `None`, new ledger entries do not invalidate the
    /// permission.
    pub charge: Option<&'a Charge>,
}

/// Stores rounds. Every method is one transaction. A method that takes a `RoundRecord` stores `record.round` only if
/// the stored revision is still `record.revision`, and then increments the revision.
#[async_trait]
pub trait RoundRepository {
    /// Opens a round.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the task already has an open round of this purpose, or a round with this
    /// number.
    async fn open_round(&self, record: &RoundRecord) -> Result<(), StorageError>;

    /// Lists the task's open rounds, that is, rounds whose phase is not final. There is at most one of each purpose;
    /// the training round comes first.
    async fn unfinished_rounds(&self, task_id: TaskId) -> Result<Vec<RoundRecord>, StorageError>;

    /// Finds the task's open training round.
    async fn unfinished_round(&self, task_id: TaskId) -> Result<Option<RoundRecord>, StorageError>;

    /// Finds an organisation's round.
    async fn round(
        &self,
        organisation_id: OrganisationId,
        id: RoundId,
    ) -> Result<Option<RoundRecord>, StorageError>;

    /// Lists a task's rounds, newest first, at most `limit`. If `before` is given, only rounds with a lower number.
    async fn rounds(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<RoundRecord>, StorageError>;

    /// Counts the task's rounds: `(all, committed)`.
    async fn round_counts(&self, task_id: TaskId) -> Result<(u64, u64), StorageError>;

    /// Counts the task's consecutive abandoned rounds after the round `after_round`, by the rule of
    /// [`folkmoot_coordinator::task::abandoned_in_a_row`]. Returns `(rounds, newest)`: the number of rounds, and the
    /// number of the newest one; `(0, 0)` if there are none.
    async fn abandoned_in_a_row(&self, task_id: TaskId, after_round: u64)
    -> Result<(u64, u64), StorageError>;

    /// Returns when the task's first round was opened.
    async fn first_round_at(&self, task_id: TaskId) -> Result<Option<Timestamp>, StorageError>;

    /// Stores a round with new assignments. It also removes the assigned clients from the pool, records their starts
    /// and updates their clocks.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed concurrently, or if a client has another outstanding
    /// assignment or is no longer in the pool. In these cases nothing is stored.
    async fn assign(
        &self,
        record: &RoundRecord,
        assignments: &[AssignmentRecord],
        clocks: &StartClocks,
    ) -> Result<(), StorageError> {
        self.assign_and_keep(record, assignments, clocks, None).await
    }

    /// Stores a round with new assignments, like [`RoundRepository::assign`], and what the task's own selection keeps until its
    /// next draw. `None` keeps what is stored.
    ///
    /// # Errors
    /// The errors of [`RoundRepository::assign`].
    async fn assign_and_keep(
        &self,
        record: &RoundRecord,
        assignments: &[AssignmentRecord],
        clocks: &StartClocks,
        selection_state: Option<&[u8]>,
    ) -> Result<(), StorageError>;

    /// Returns what the task's own selection has kept. It is empty before the first draw.
    async fn selection_state(&self, task_id: TaskId) -> Result<Vec<u8>, StorageError>;

    /// Stores a round's phase and nothing else. With an unchanged phase, it only increments the revision, so that another
    /// process that has read the round can no longer change it.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed concurrently.
    async fn store_phase(&self, record: &RoundRecord) -> Result<(), StorageError>;

    /// Stores a round whose reporting has closed, and returns the accepted updates, by assignment id. From then on, the
    /// round accepts no updates. `rest` determines whether the outstanding assignments expire or continue in the next
    /// round. `record.round` must be `Aggregating` or `Unmasking`, with the expected number of
    /// updates.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed concurrently, or if another update arrived, so that
    /// the number of accepted updates differs from the expected one. Read the data again and repeat the decision.
    async fn close_reporting(
        &self,
        record: &RoundRecord,
        rest: Rest,
        now: Timestamp,
    ) -> Result<Vec<AcceptedUpdate>, StorageError>;

    /// Stores a committed round, its version, its charge and the other parts of `commit`, in one transaction.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed concurrently or the version already exists, and
    /// [`StorageError::LeaveConflict`] if the permission to release the version is no longer valid.
    async fn commit_round(&self, commit: &RoundCommit<'_>) -> Result<(), StorageError>;

    /// Stores an abandoned round, and lets the outstanding assignments of its purpose expire.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed concurrently.
    async fn abandon_round(&self, record: &RoundRecord, now: Timestamp) -> Result<(), StorageError>;
}
