//! The API's representation of a task.

use folkmoot_api::tasks::{OpenRoundView, TaskSummary, TaskView};
use folkmoot_coordinator::{round::Phase, scheduling::ReportCounts, task::TaskState};
use folkmoot_rounds::{drivers::awaited, refusal::Refusal};
use folkmoot_storage::{AssignmentRepository, ModelVersionRepository, RoundRepository, Storage, TaskRecord};
use folkmoot_task_file::explain;

use super::pause_view::pause_view;
use crate::http::admin::rounds::view::{awaited_view, round_view};

/// Converts a task's record for a list.
pub async fn summary(storage: &Storage, task: TaskRecord) -> Result<TaskSummary, Refusal> {
    let (_, rounds_committed) = storage.round_counts(task.id).await?;
    Ok(TaskSummary {
        id: task.id,
        state: task.state.name().into(),
        rounds_committed,
        rounds_wanted: task.description.stop.rounds,
        name: task.description.name,
        population: task.description.population,
        model: task.model,
        created_at: task.created_at,
    })
}

/// Converts a task's record, with its progress.
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
                round: round_view(&record, &task.description),
                accepted: told(accepted),
                outstanding: told(outstanding),
                dropped: told(dropped),
                awaited: awaited(storage, &task, &record, counts).await?.map(awaited_view),
            })
        }
    };
    let stop_reason = match task.state {
        TaskState::Completed { reason } => Some(reason),
        _ => None,
    };
    // The noise of a claimed sample takes too long to compute for each view.
    let trained = task.description.sampled().is_none().then(|| task.schema.parameter_count());
    let pause = match &task.state {
        TaskState::Paused { reason: Some(reason), .. } => Some(pause_view(storage, &task, reason).await?),
        _ => None,
    };
    Ok(TaskView {
        id: task.id,
        pause,
        notes: explain::notes(&task.description, trained),
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
