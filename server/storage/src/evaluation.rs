use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, TaskId, Timestamp, update::UpdateMetrics};

use crate::{RoundRecord, StorageError};

/// What was measured of a version.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationRecord {
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The task.
    pub task_id: TaskId,
    /// The version.
    pub version: u64,
    /// Who measured.
    pub source: EvaluationSource,
    /// Whose examples: empty for all, else `attribute=value`.
    pub slice: String,
    /// How many clients measured; 0 for the operator's own examples.
    pub client_count: u64,
    /// The sums.
    pub metrics: UpdateMetrics,
    /// When.
    pub created_at: Timestamp,
}

/// Who measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvaluationSource {
    /// The coordinator, on the operator's own examples.
    Central,
    /// Clients, on theirs.
    Federated,
}

impl EvaluationSource {
    /// Returns the source's name, as the API and the database show it.
    pub fn name(self) -> &'static str {
        match self {
            EvaluationSource::Central => "central",
            EvaluationSource::Federated => "federated",
        }
    }
}

impl std::str::FromStr for EvaluationSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "central" => Ok(EvaluationSource::Central),
            "federated" => Ok(EvaluationSource::Federated),
            _ => Err(format!("there is no source {text:?}")),
        }
    }
}

/// Evaluations of model versions.
#[async_trait]
pub trait EvaluationRepository {
    /// Stores what was measured centrally; what is there already stays.
    async fn record_evaluation(&self, evaluation: &EvaluationRecord) -> Result<(), StorageError>;

    /// Stores an evaluation round that is over, with what it measured, in one transaction.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed meanwhile.
    async fn end_evaluation(
        &self,
        record: &RoundRecord,
        evaluations: &[EvaluationRecord],
    ) -> Result<(), StorageError>;

    /// Lists a task's evaluations over all clients, the oldest version first, `Central` before `Federated`.
    async fn evaluations(&self, task_id: TaskId) -> Result<Vec<EvaluationRecord>, StorageError>;

    /// Returns the newest version that this source has evaluated.
    async fn last_evaluated(
        &self,
        task_id: TaskId,
        source: EvaluationSource,
    ) -> Result<Option<u64>, StorageError>;

    /// Lists a version's evaluations over all clients, `Central` before `Federated`.
    async fn evaluations_at(
        &self,
        task_id: TaskId,
        version: u64,
    ) -> Result<Vec<EvaluationRecord>, StorageError>;

    /// Lists the slices of all of a task's evaluations, by version and slice.
    async fn evaluation_slices(&self, task_id: TaskId) -> Result<Vec<EvaluationRecord>, StorageError>;
}
