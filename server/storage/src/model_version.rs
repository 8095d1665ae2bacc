use async_trait::async_trait;
use folkmoot_aggregation::anomaly::CommitScores;
use folkmoot_coordinator::task::WarmStart;
use folkmoot_privacy::ledger::Totals;
use folkmoot_protocol::{
    AssignmentId, BlobDigest, OrganisationId, PopulationName, RoundId, TaskId, Timestamp,
    update::UpdateMetrics,
};
use serde::{Deserialize, Serialize};

use crate::StorageError;

/// A committed, numbered state of a task's model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelVersionRecord {
    /// The task.
    pub task_id: TaskId,
    /// The version's number. Version 0 is the initial version.
    pub number: u64,
    /// The round that committed the version; `None` for version 0 and rollbacks.
    pub round_id: Option<RoundId>,
    /// The weights: float32, little-endian, in the order of the task's schema. The schema lists the tensors that
    /// travel.
    pub weights: BlobDigest,
    /// The weights' size in bytes.
    pub weights_bytes: u64,
    /// The summed training metrics of the round's clients; zeros for version 0, rollbacks and private tasks.
    pub metrics: UpdateMetrics,
    /// Further facts about the origin of the version.
    pub making: VersionMaking,
    /// When the version was released.
    pub created_at: Timestamp,
    /// When the weights were dropped, because newer versions took their place; `None` while they are kept.
    pub dropped_at: Option<Timestamp>,
}

impl ModelVersionRecord {
    /// Lists the blobs that belong to the version.
    pub fn blobs(&self) -> Vec<BlobDigest> {
        let states = [self.making.finalizer_state, self.making.noise_state];
        states.into_iter().flatten().chain([self.weights]).collect()
    }
}

/// Facts about the origin of a version: its distance from the previous version, the staleness of its updates, stored
/// states and ancestors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VersionMaking {
    /// The finalizer's state for the next version: float32, little-endian, with one number per parameter for each kind
    /// of state, such as momentum. A component's number of kinds stands before it, as a byte, and the state of a component that
    /// combines updates after it. It is deleted when neither the next version nor a client needs it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finalizer_state: Option<BlobDigest>,
    /// The L2 distance to the previous version.
    pub change_norm: f64,
    /// The mean staleness of the version's updates, in versions.
    pub mean_staleness: f64,
    /// The maximum staleness of the version's updates, in versions.
    pub staleness_max: u64,
    /// The L2 norm to which updates that start from this version are clipped; `None` unless the coordinator adds noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipping_norm: Option<f64>,
    /// The state of the correlated noise after this version; `None` for other noise. It is deleted when the next
    /// version is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_state: Option<BlobDigest>,
    /// For a rollback, the number of the version with the same weights; otherwise `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolled_back_to: Option<u64>,
    /// The task and version that provided the weights of version 0; `None` if the task started from the model's own
    /// weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_start: Option<WarmStart>,
    /// The scores of the version's updates; `None` if they were not scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<CommitScores<AssignmentId>>,
    /// The privacy cost of the versions from which version 0 descends, nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Ancestor>,
}

/// A version of another task that is an ancestor of a version, with its privacy cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ancestor {
    /// The task of the ancestor.
    pub task_id: TaskId,
    /// The ancestor's version number.
    pub version: u64,
    /// The population whose clients trained the ancestor.
    pub population: PopulationName,
    /// The privacy cost of the ancestor's task, up to the ancestor.
    pub totals: Totals,
    /// True if the ancestor was trained without privacy, so that nothing limits what it reveals.
    pub is_unbounded: bool,
}

/// Reads model versions. They are written by [`crate::TaskRepository::create_task`],
/// [`crate::RoundRepository::commit_round`] and, without a round, by `release_version`.
#[async_trait]
pub trait ModelVersionRepository {
    /// Finds one version of a task.
    async fn model_version(
        &self,
        task_id: TaskId,
        number: u64,
    ) -> Result<Option<ModelVersionRecord>, StorageError>;

    /// Stores a version without a round: a rollback to an earlier version.
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

    /// Lists a task's versions, newest first, at most `limit`. If `before` is given, only versions with a lower number.
    async fn model_versions(
        &self,
        task_id: TaskId,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<ModelVersionRecord>, StorageError>;

    /// Lists a task's versions whose number is a multiple of `stride`, and the newest version. The oldest comes
    /// first.
    async fn every_version(
        &self,
        task_id: TaskId,
        stride: u64,
    ) -> Result<Vec<ModelVersionRecord>, StorageError>;
}
