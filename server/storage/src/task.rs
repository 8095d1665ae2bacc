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
    /// The task's id.
    pub id: TaskId,
    /// The organisation that owns the task.
    pub organisation_id: OrganisationId,
    /// The description.
    pub description: TaskDescription,
    /// The current state.
    pub state: TaskState,
    /// The ONNX model.
    pub model: BlobDigest,
    /// The ONNX model's size in bytes.
    pub model_bytes: u64,
    /// The model's trainable tensors.
    pub schema: TensorSchema,
    /// The plan's blob: JSON of `folkmoot_protocol::Plan`.
    pub plan: BlobDigest,
    /// The plan's size in bytes.
    pub plan_bytes: u64,
    /// The plan's blob for evaluation rounds; `None` if clients do not evaluate.
    pub evaluation_plan: Option<Artifact>,
    /// The operator's own examples for evaluating versions; `None` if there are none.
    pub evaluation_data: Option<BlobDigest>,
    /// The number of clients that the task was given so far.
    pub served: u64,
    /// When the task was created.
    pub created_at: Timestamp,
    /// The number of changes of `state`, from 0.
    pub revision: u64,
}

/// The state of a population for which a task was checked. The transaction that admits the task compares the population
/// with this state. So if two tasks were checked against the same state, only one is admitted, and the other must be
/// checked again.
#[derive(Clone, Copy, Debug)]
pub struct Admission<'a> {
    /// The population's privacy settings.
    pub privacy: PopulationPrivacy,
    /// The number of entries in the population's ledger.
    pub entries: u64,
    /// The population's tasks that are active or have an open round, by id.
    pub running: &'a [TaskId],
}

/// Stores tasks.
#[async_trait]
pub trait TaskRepository {
    /// Stores a new task and its model version 0, and records its terms in its population's ledger, in one
    /// transaction.
    async fn create_task(&self, task: &TaskRecord, version: &ModelVersionRecord) -> Result<(), StorageError>;

    /// Like `create_task`, but stores the task only if its population has not changed since `admission` was read.
    ///
    /// # Errors
    /// [`StorageError::LeaveConflict`] if the population has changed. In that case, nothing is stored.
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

    /// Finds a task in any organisation, for drivers and for clients that have one of its assignments.
    async fn task_of_any_organisation(&self, id: TaskId) -> Result<Option<TaskRecord>, StorageError>;

    /// Lists the organisation's tasks that match the filter, newest first, at most `limit`. `before` is the id of the
    /// last task on the previous page.
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
    /// [`StorageError::RevisionConflict`] if the task's revision is no longer `revision`.
    async fn set_task_state(&self, id: TaskId, state: TaskState, revision: u64) -> Result<(), StorageError>;

    /// Starts a task: stores its next state, if its population has not changed since `admission` was read.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the task's revision is no longer that of the record, and
    /// [`StorageError::LeaveConflict`] if the population has changed.
    async fn start_task(
        &self,
        task: &TaskRecord,
        state: TaskState,
        admission: &Admission<'_>,
    ) -> Result<(), StorageError>;

    /// Lists the tasks that drivers must process, by id, in all organisations: active tasks, and tasks with an open
    /// round. The open round of a paused or cancelled task must still be ended.
    async fn tasks_to_drive(&self) -> Result<Vec<TaskId>, StorageError>;
}
