use async_trait::async_trait;
use folkmoot_coordinator::task::WarmStart;
use folkmoot_privacy::ledger::Totals;
use folkmoot_protocol::{
    BlobDigest, OrganisationId, PopulationName, RoundId, TaskId, Timestamp, update::UpdateMetrics,
};
use serde::{Deserialize, Serialize};

use crate::StorageError;

/// A committed, numbered state of a task's model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelVersionRecord {
    /// The task.
    pub task_id: TaskId,
    /// Its number: 0 is what the task began with.
    pub number: u64,
    /// The round that made it; none for version 0.
    pub round_id: Option<RoundId>,
    /// The weights: float32, little-endian, in the order of the task's schema, which lists the tensors that travel.
    pub weights: BlobDigest,
    /// The weights' bytes.
    pub weights_bytes: u64,
    /// What the clients of its round measured on the version before, summed; zeros for version 0.
    pub metrics: UpdateMetrics,
    /// How it came about.
    pub making: VersionMaking,
    /// When it was released.
    pub created_at: Timestamp,
}

/// How a version came about besides its metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VersionMaking {
    /// What the server optimizer keeps for the next version: float32, little-endian, one number after the other
    /// for each parameter, slot by slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finalizer_state: Option<BlobDigest>,
    /// How far it lies from the version before, in L2.
    pub change_norm: f64,
    /// How many versions old its updates were, in the mean.
    pub mean_staleness: f64,
    /// How many versions old its oldest update was.
    pub staleness_max: u64,
    /// The L2 norm to which updates are clipped that start from this version; none where nothing is promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipping_norm: Option<f64>,
    /// Where the stream of noise stands after this version, where the noise of versions is correlated. It is gone when the
    /// next version is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_state: Option<BlobDigest>,
    /// The version whose weights these are, where it is a return to that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolled_back_to: Option<u64>,
    /// The task and version with whose weights this task began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_start: Option<WarmStart>,
    /// What was spent on the versions from which version 0 descends, the nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Ancestor>,
}

/// A version from which another task's descends, with what was spent on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ancestor {
    /// Its task.
    pub task_id: TaskId,
    /// Its number.
    pub version: u64,
    /// Whose clients trained it.
    pub population: PopulationName,
    /// What was spent of them, up to this version.
    pub totals: Totals,
    /// Says that it was trained without a promise: nothing bounds what it reveals.
    pub is_unbounded: bool,
}

/// Model versions. They are written by [`crate::TaskRepository::create_task`],
/// [`crate::RoundRepository::commit_round`] and, without a round, by `release_version`.
#[async_trait]
pub trait ModelVersionRepository {
    /// Finds one version of a task.
    async fn model_version(
        &self,
        task_id: TaskId,
        number: u64,
    ) -> Result<Option<ModelVersionRecord>, StorageError>;

    /// Stores a version that no round made: a return to an earlier one.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the version exists.
    async fn release_version(
        &self,
        organisation_id: OrganisationId,
        version: &ModelVersionRecord,
    ) -> Result<(), StorageError>;

    /// Finds a task's newest version.
    async fn latest_model_version(&self, task_id: TaskId)
    -> Result<Option<ModelVersionRecord>, StorageError>;

    /// Lists a task's versions, newest first, at most `limit`, below `before` when given.
    async fn model_versions(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<ModelVersionRecord>, StorageError>;

    /// Lists a task's versions whose number is a multiple of `stride`, and the newest, oldest first.
    async fn every_version(
        &self,
        task_id: TaskId,
        stride: u64,
    ) -> Result<Vec<ModelVersionRecord>, StorageError>;
}
