use async_trait::async_trait;
use folkmoot_protocol::{
    ClassReport, Metric, MetricValues, OrganisationId, TaskId, Timestamp, update::UpdateMetrics,
};

use crate::{RoundRecord, StorageError};

/// The result of evaluating a version on all examples of a source, or on one slice.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationRecord {
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The task.
    pub task_id: TaskId,
    /// The version.
    pub version: u64,
    /// Whether the coordinator or clients evaluated the version, and on whose examples.
    pub source: EvaluationSource,
    /// The slice: empty for all examples, otherwise `attribute=value`.
    pub slice: String,
    /// The number of clients that reported; 0 for the operator's own examples.
    pub client_count: u64,
    /// The summed metrics.
    pub metrics: UpdateMetrics,
    /// All metrics that were measured. Empty for a federated evaluation in which a client reported only `metrics`, and
    /// for an evaluation that an older build stored.
    pub values: MetricValues,
    /// The metrics of each class. Only [`EvaluationRepository::evaluations_at`] reads them; lists leave them out.
    pub classes: Option<ClassReport>,
    /// When the evaluation was stored.
    pub created_at: Timestamp,
}

impl EvaluationRecord {
    /// Returns the value of a metric, or `None` if it was not measured.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Accuracy if self.values.is_empty() => self.metrics.accuracy(),
            Metric::Loss if self.values.is_empty() => self.metrics.mean_loss(),
            _ => self.values.get(metric),
        }
    }
}

/// The party that evaluates a version, and on whose examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvaluationSource {
    /// The coordinator, on the operator's own examples.
    Central,
    /// Clients, on their own examples.
    Federated,
    /// Clients, on their own examples, each after fine-tuning the version on others of its own.
    FineTuned,
}

impl EvaluationSource {
    /// Returns the source's name, as the API and the database show it.
    pub fn name(self) -> &'static str {
        match self {
            EvaluationSource::Central => "central",
            EvaluationSource::Federated => "federated",
            EvaluationSource::FineTuned => "fine_tuned",
        }
    }
}

impl std::str::FromStr for EvaluationSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "central" => Ok(EvaluationSource::Central),
            "federated" => Ok(EvaluationSource::Federated),
            "fine_tuned" => Ok(EvaluationSource::FineTuned),
            _ => Err(format!("unknown evaluation source {text:?}")),
        }
    }
}

/// Stores evaluations of model versions.
#[async_trait]
pub trait EvaluationRepository {
    /// Stores a central evaluation. If the version already has one, that one is kept.
    async fn record_evaluation(&self, evaluation: &EvaluationRecord) -> Result<(), StorageError>;

    /// Stores a finished evaluation round with its results, in one transaction.
    ///
    /// # Errors
    /// [`StorageError::RevisionConflict`] if the round was changed concurrently.
    async fn end_evaluation(
        &self,
        record: &RoundRecord,
        evaluations: &[EvaluationRecord],
    ) -> Result<(), StorageError>;

    /// Lists a task's evaluations over all clients, the oldest version first, in the order of [`EvaluationSource`].
    async fn evaluations(&self, task_id: TaskId) -> Result<Vec<EvaluationRecord>, StorageError>;

    /// Returns the number of the newest version that has an evaluation from `source`; `None` if there is none.
    async fn last_evaluated(
        &self,
        task_id: TaskId,
        source: EvaluationSource,
    ) -> Result<Option<u64>, StorageError>;

    /// Lists a version's evaluations over all clients, with their classes, in the order of [`EvaluationSource`].
    async fn evaluations_at(
        &self,
        task_id: TaskId,
        version: u64,
    ) -> Result<Vec<EvaluationRecord>, StorageError>;

    /// Lists the slices of all of a task's evaluations, by version and slice.
    async fn evaluation_slices(&self, task_id: TaskId) -> Result<Vec<EvaluationRecord>, StorageError>;
}
