use async_trait::async_trait;
use folkmoot_coordinator::{
    privacy::PopulationPrivacy,
    task::{TaskDescription, TaskFilter, TaskState},
};
use folkmoot_protocol::{BlobDigest, OrganisationId, TaskId, TensorSchema, Timestamp, messages::Artifact};

use crate::{ModelVersionRecord, StorageError};

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRecord {
    /// Its id.
    pub id: TaskId,
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// What it is.
    pub description: TaskDescription,
    /// Where it stands.
    pub state: TaskState,
    /// The ONNX model.
    pub model: BlobDigest,
    /// The ONNX model's bytes.
    pub model_bytes: u64,
    /// The model's trainable tensors.
    pub schema: TensorSchema,
    /// The plan's blob: JSON of `folkmoot_protocol::Plan`.
    pub plan: BlobDigest,
    /// The plan's bytes.
    pub plan_bytes: u64,
    /// The plan's blob of evaluation rounds, if clients evaluate.
    pub evaluation_plan: Option<Artifact>,
    /// The operator's own examples on which versions are evaluated, if there are any.
    pub evaluation_data: Option<BlobDigest>,
    /// How many clients it was given so far.
    pub served: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Counts the changes of `state`, from 0.
    pub revision: u64,
}

/// What was seen of a population when a task was found to have its place in it. The storage compares it in the transaction
/// that lets the task in: of two that saw the same, one is let in and the other must look again.
#[derive(Clone, Copy, Debug)]
pub struct Admission<'a> {
    /// What held in the population.
    pub privacy: PopulationPrivacy,
    /// How many entries its ledger had.
    pub entries: u64,
    /// Its tasks that were active or had an open round, by id.
    pub running: &'a [TaskId],
}

/// Tasks.
#[async_trait]
pub trait TaskRepository {
    /// Stores a new task and its model version 0, and writes its terms into its population's ledger, in one transaction.
    async fn create_task(&self, task: &TaskRecord, version: &ModelVersionRecord) -> Result<(), StorageError>;

    /// Does the same if the task's population is still as it was seen.
    ///
    /// # Errors
    /// [`StorageError::LeaveConflict`] if it is not; nothing is stored then.
    async fn admit_task(
        &self,
        task: &TaskRecord,
        version: &ModelVersionRecord,
        admission: &Admission<'_>,
    ) -> Result<(), StorageError>;

    /// Finds an organisation's task.
    async fn task(
        &self,
        organisation_id: OrganisationId,
        id: TaskId,
    ) -> Result<Option<TaskRecord>, StorageError>;

    /// Finds a task in any organisation, for drivers and for clients that have an assignment of it.
    async fn task_of_any_organisation(&self, id: TaskId) -> Result<Option<TaskRecord>, StorageError>;

    /// Lists the organisation's tasks that pass the filter, newest first, at most `limit`, from before `before` when
    /// given (the last id of the page before).
    async fn tasks(
        &self,
        organisation_id: OrganisationId,
        filter: &TaskFilter,
        limit: u32,
        before: Option<TaskId>,
    ) -> Result<Vec<TaskRecord>, StorageError>;

    /// Stores the next state of a task.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if its revision is no longer `revision`.
    async fn set_task_state(&self, id: TaskId, state: TaskState, revision: u64) -> Result<(), StorageError>;

    /// Stores the next state of a task that is to run, if its population is still as it was seen.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if its revision is no longer the record's, and
    /// [`StorageError::LeaveConflict`] if the population is not as it was seen.
    async fn start_task(
        &self,
        task: &TaskRecord,
        state: TaskState,
        admission: &Admission<'_>,
    ) -> Result<(), StorageError>;

    /// Lists what drivers must look at: every task of any organisation that is active, or that has an open
    /// round (a round of a paused or cancelled task must be brought to its end), by id.
    async fn tasks_to_drive(&self) -> Result<Vec<TaskId>, StorageError>;
}
