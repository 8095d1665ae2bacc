//! How the API shows a task.

use folkmoot_coordinator::{
    round::Phase,
    scheduling::ReportCounts,
    task::{StopReason, TaskDescription, TaskState},
};
use folkmoot_protocol::{BlobDigest, PopulationName, TaskId, Timestamp};
use folkmoot_storage::{AssignmentRepository, ModelVersionRepository, RoundRepository, Storage, TaskRecord};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::pause_view::{PauseView, pause_view};
use crate::{http::admin::rounds::view::RoundView, refusal::Refusal};

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskSummary {
    /// Its id.
    pub id: TaskId,
    /// Its name for humans.
    pub name: String,
    /// Whose clients train it.
    pub population: PopulationName,
    /// `draft`, `active`, `paused`, `completed` or `cancelled`.
    pub state: String,
    /// How many rounds were committed.
    pub rounds_committed: u64,
    /// After how many it ends, if it is their number that ends it.
    pub rounds_wanted: Option<u64>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A task, with where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// What it is.
    #[schema(value_type = Object)]
    pub description: TaskDescription,
    /// `draft`, `active`, `paused`, `completed` or `cancelled`.
    pub state: String,
    /// Which condition ended it.
    #[schema(value_type = Option<String>)]
    pub stop_reason: Option<StopReason>,
    /// Why the coordinator paused it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseView>,
    /// The ONNX model.
    pub model: BlobDigest,
    /// How many values are trained.
    pub parameter_count: u64,
    /// The newest model version.
    pub latest_version: u64,
    /// How many rounds were opened, abandoned ones included.
    pub rounds_opened: u64,
    /// How many rounds were committed.
    pub rounds_committed: u64,
    /// The round that is open now.
    pub open_round: Option<OpenRoundView>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A round that is not over, with what its assignments have come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenRoundView {
    /// The round.
    pub round: RoundView,
    /// Updates that count; hidden where the task's `privacy` claims sampling, as is what follows.
    pub accepted: Option<u64>,
    /// Assignments that may still bring one.
    pub outstanding: Option<u64>,
    /// Assignments that were given up, refused or have expired.
    pub dropped: Option<u64>,
}

/// Shows a task in a list.
pub async fn summary(storage: &Storage, task: TaskRecord) -> Result<TaskSummary, Refusal> {
    let (_, rounds_committed) = storage.round_counts(task.id).await?;
    Ok(TaskSummary {
        id: task.id,
        state: task.state.name().into(),
        rounds_committed,
        rounds_wanted: task.description.stop.rounds,
        name: task.description.name,
        population: task.description.population,
        created_at: task.created_at,
    })
}

/// Shows a task with where it stands.
pub async fn view(storage: &Storage, task: TaskRecord) -> Result<TaskView, Refusal> {
    let (rounds_opened, rounds_committed) = storage.round_counts(task.id).await?;
    let latest = storage.latest_model_version(task.id).await?;
    let open_round = match storage.unfinished_round(task.id).await? {
        None => None,
        Some(record) => {
            let counts = match record.round.phase {
                Phase::Collecting { .. } => storage.flow_counts(task.id, record.round.id).await?,
                _ => storage.report_counts(record.round.id).await?,
            };
            let ReportCounts { accepted, outstanding, dropped } = counts;
            let told = |count| (!task.description.hides_counts()).then_some(count);
            Some(OpenRoundView {
                round: RoundView::of(&record, &task.description),
                accepted: told(accepted),
                outstanding: told(outstanding),
                dropped: told(dropped),
            })
        }
    };
    let stop_reason = match task.state {
        TaskState::Completed { reason } => Some(reason),
        _ => None,
    };
    let pause = match &task.state {
        TaskState::Paused { reason: Some(reason), .. } => Some(pause_view(storage, &task, reason).await?),
        _ => None,
    };
    Ok(TaskView {
        id: task.id,
        pause,
        description: task.description,
        state: task.state.name().into(),
        stop_reason,
        model: task.model,
        parameter_count: task.schema.parameter_count(),
        latest_version: latest.map_or(0, |version| version.number),
        rounds_opened,
        rounds_committed,
        open_round,
        created_at: task.created_at,
    })
}
