//! Pauses a task whose rounds or assignments keep failing.

use folkmoot_coordinator::{
    round::AbandonReason,
    scheduling::ReportCounts,
    task::{PauseReason, TaskInput, TaskState},
};
use folkmoot_storage::{RoundRecord, RoundRepository, TaskRecord, TaskRepository};

use super::DriveError;
use crate::coordinator::Coordinator;

/// Pauses an active task after too many abandoned rounds in a row, or if its own selection has failed, because the next
/// draw would follow at once and fail in the same way. Called between rounds. Returns whether the task was paused.
pub(super) async fn after_abandoned_rounds(
    coordinator: &Coordinator,
    task: &TaskRecord,
) -> Result<bool, DriveError> {
    let TaskState::Active { after_round } = task.state else { return Ok(false) };
    let (rounds, last_round) = coordinator.storage.abandoned_in_a_row(task.id, after_round).await?;
    if rounds == 0 {
        return Ok(false);
    }
    let last = coordinator.storage.rounds(task.id, 1, last_round.checked_add(1)).await?.pop();
    let ended = last.and_then(|record: RoundRecord| record.round.phase.outcome().reason);
    let reason = match ended {
        Some(AbandonReason::SelectionFailed) => PauseReason::FailedSelections { rounds, last_round },
        _ if rounds < task.description.abandoned_rounds_max => return Ok(false),
        Some(AbandonReason::CommitFailed) => PauseReason::FailedCommits { rounds, last_round },
        _ => PauseReason::AbandonedRounds { rounds, last_round },
    };
    pause(coordinator, task, reason).await
}

/// Pauses an active task if too many assignments have failed since the last version. Called during a flow's round.
/// Returns whether the task was paused.
pub(super) async fn after_failed_assignments(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
    counts: ReportCounts,
) -> Result<bool, DriveError> {
    let concurrency = task.description.scheduling.policy().concurrency();
    let most = task.description.abandoned_rounds_max.saturating_mul(concurrency);
    // The round's counts begin at the last version.
    let ReportCounts { accepted, dropped: assignments, .. } = counts;
    if assignments < most || accepted > 0 {
        return Ok(false);
    }
    let reason = PauseReason::FailedAssignments { assignments, last_round: record.round.number };
    pause(coordinator, task, reason).await
}

async fn pause(
    coordinator: &Coordinator,
    task: &TaskRecord,
    reason: PauseReason,
) -> Result<bool, DriveError> {
    let state = task.state.step(TaskInput::PauseFor(reason))?;
    coordinator.storage.set_task_state(task.id, state, task.revision).await?;
    tracing::warn!(task = %task.id, code = reason.code(), round = reason.last_round(), "task paused: its rounds or assignments keep failing");
    metrics::counter!("folkmoot_tasks_paused_total", "code" => reason.code()).increment(1);
    Ok(true)
}
