use async_trait::async_trait;
use folkmoot_coordinator::{
    participation::StartClocks, privacy::PopulationPrivacy, round::Round, task::TaskState,
};
use folkmoot_privacy::ledger::Charge;
use folkmoot_protocol::{AssignmentId, OrganisationId, PopulationName, RoundId, TaskId, Timestamp};

use crate::{AcceptedUpdate, AssignmentRecord, ModelVersionRecord, StorageError};

/// A round, with the revision by which a writer notices that another was faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRecord {
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// The round.
    pub round: Round,
    /// How many updates it takes at most; `None` is without bound.
    pub updates_max: Option<u64>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Counts the changes, from 0.
    pub revision: u64,
}

/// What becomes of the assignments under way when a round closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// They expire: the round was theirs.
    Expires,
    /// They go on: their updates count in the next round.
    GoesOn,
}

/// A committed round, with all that goes with it.
#[derive(Clone, Copy, Debug)]
pub struct RoundCommit<'a> {
    /// The round.
    pub record: &'a RoundRecord,
    /// The version that it releases.
    pub version: &'a ModelVersionRecord,
    /// The task's next state, when it is over.
    pub task_state: Option<TaskState>,
    /// In a flow, the round that follows at once. Without one, the assignments under way expire.
    pub next: Option<&'a RoundRecord>,
    /// Assignments under way that have fallen too far behind.
    pub dropped: &'a [AssignmentId],
    /// The leave to release the version. Without one nothing is charged and nothing looked at.
    pub leave: Option<Leave<'a>>,
    /// When.
    pub now: Timestamp,
}

/// The leave to release a version: what it costs, and what was seen of its population when it was found to be affordable.
#[derive(Clone, Copy, Debug)]
pub struct Leave<'a> {
    /// The population in whose ledger the version is charged.
    pub population: &'a PopulationName,
    /// What held in it.
    pub privacy: PopulationPrivacy,
    /// How many entries its ledger had.
    pub entries: u64,
    /// What the version costs. Where nothing is promised nothing is charged, and the ledger may have gone on.
    pub charge: Option<&'a Charge>,
}

/// Rounds. Every method is one transaction. A method that takes a `RoundRecord` stores `record.round` if the
/// stored revision is still `record.revision`, and increments it.
#[async_trait]
pub trait RoundRepository {
    /// Opens a round.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the task has an open round of this purpose, or one of this number.
    async fn open_round(&self, record: &RoundRecord) -> Result<(), StorageError>;

    /// Lists the task's open rounds (their phase is not final): at most one of each purpose, training first.
    async fn unfinished_rounds(&self, task_id: TaskId) -> Result<Vec<RoundRecord>, StorageError>;

    /// Finds the task's open round that trains.
    async fn unfinished_round(&self, task_id: TaskId) -> Result<Option<RoundRecord>, StorageError>;

    /// Finds an organisation's round.
    async fn round(
        &self,
        organisation_id: OrganisationId,
        id: RoundId,
    ) -> Result<Option<RoundRecord>, StorageError>;

    /// Lists a task's rounds, newest first, at most `limit`, below number `before` when given.
    async fn rounds(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<RoundRecord>, StorageError>;

    /// Counts the task's rounds: `(all, committed)`.
    async fn round_counts(&self, task_id: TaskId) -> Result<(u64, u64), StorageError>;

    /// Counts the task's rounds in a row in which clients trained in vain, after `after_round`, as
    /// [`folkmoot_coordinator::task::abandoned_in_a_row`] does, and returns the newest of them, too: `(rounds, newest)`.
    /// Without one both are 0.
    async fn abandoned_in_a_row(&self, task_id: TaskId, after_round: u64)
    -> Result<(u64, u64), StorageError>;

    /// Returns when the task's first round was opened.
    async fn first_round_at(&self, task_id: TaskId) -> Result<Option<Timestamp>, StorageError>;

    /// Stores a round with new assignments, takes their clients out of the pool, and records their starts
    /// with what they set in the clients' clocks.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile, or one of the clients was given
    /// another assignment or has left the pool; nothing is stored then.
    async fn assign(
        &self,
        record: &RoundRecord,
        assignments: &[AssignmentRecord],
        clocks: &StartClocks,
    ) -> Result<(), StorageError>;

    /// Stores a round that has asked its clients for what they have.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile.
    async fn ask_round(&self, record: &RoundRecord) -> Result<(), StorageError>;

    /// Stores a round that closed its reporting, and returns the accepted updates, by assignment id. From then on it
    /// takes no update. Outstanding assignments expire, or go on into the next round. The caller's round is
    /// `Aggregating` and says how many updates it expects.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile, or if the number of accepted
    /// updates is not the one that `record.round` says (one came in between): read again and decide again.
    async fn close_reporting(
        &self,
        record: &RoundRecord,
        rest: Rest,
        now: Timestamp,
    ) -> Result<Vec<AcceptedUpdate>, StorageError>;

    /// Stores a committed round with all that goes with it, in one transaction.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile or the version exists, and
    /// [`StorageError::LeaveConflict`] if what its leave rests on is not so any more.
    async fn commit_round(&self, commit: &RoundCommit<'_>) -> Result<(), StorageError>;

    /// Stores an abandoned round and lets the outstanding assignments of its purpose expire.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile.
    async fn abandon_round(&self, record: &RoundRecord, now: Timestamp) -> Result<(), StorageError>;
}
