//! Pauses a task whose clients train in vain.

use std::sync::Arc;

use folkmoot_coordinator::{
    round::{AbandonReason, Phase},
    task::{PauseReason, TaskInput, TaskState, abandoned_in_a_row},
};
use folkmoot_storage::{AssignmentRepository, RoundRecord, RoundRepository, TaskRecord, TaskRepository};

use super::DriveError;
use crate::coordinator::Coordinator;

/// Rounds between the first and the last of a row, at most: those for which nobody came lie between them.
const LOOK_BACK: u32 = 1_000;

/// Pauses an active task that brings nothing, and says whether it did. `open` is its open round that trains.
pub(super) async fn pause_if_failing(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    open: Option<&RoundRecord>,
) -> Result<bool, DriveError> {
    let TaskState::Active { after_round } = task.state else { return Ok(false) };
    let reason = match open {
        None => abandoned_rounds(coordinator, task, after_round).await?,
        Some(record) => failed_assignments(coordinator, task, record).await?,
    };
    let Some(reason) = reason else { return Ok(false) };
    let state = task.state.step(TaskInput::PauseFor(reason))?;
    coordinator.storage.set_task_state(task.id, state, task.revision).await?;
    tracing::warn!(task = %task.id, code = reason.code(), ?reason, "task paused: its clients train in vain");
    metrics::counter!("folkmoot_tasks_paused_total", "code" => reason.code()).increment(1);
    Ok(true)
}

/// Between two rounds: were too many abandoned in a row?
async fn abandoned_rounds(
    coordinator: &Coordinator,
    task: &TaskRecord,
    after_round: u64,
) -> Result<Option<PauseReason>, DriveError> {
    let storage = &coordinator.storage;
    // Only such a round makes the row longer.
    let newest = storage.rounds(task.id, 1, None).await?.pop();
    let reason = newest.as_ref().map(|record| &record.round.phase);
    let Some(Phase::Abandoned { reason: AbandonReason::TooFewReports, .. }) = reason else { return Ok(None) };
    let wanted = task.description.abandoned_rounds_max;
    let limit = u32::try_from(wanted).unwrap_or(u32::MAX).saturating_add(LOOK_BACK);
    let records = storage.rounds(task.id, limit, None).await?;
    let rounds = abandoned_in_a_row(records.iter().map(|record| &record.round), after_round);
    let last_round = records.first().map_or(0, |record| record.round.number);
    Ok((rounds >= wanted).then_some(PauseReason::AbandonedRounds { rounds, last_round }))
}

/// In a round in which clients start one by one: did too many fail since the last version?
async fn failed_assignments(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<Option<PauseReason>, DriveError> {
    let Phase::Collecting { .. } = record.round.phase else { return Ok(None) };
    let storage = &coordinator.storage;
    let concurrency = task.description.scheduling.policy().concurrency();
    let most = task.description.abandoned_rounds_max.saturating_mul(concurrency);
    // Those that were given since the last version.
    let assignments = storage.report_counts(record.round.id).await?.dropped;
    if assignments < most || storage.flow_counts(task.id, record.round.id).await?.accepted > 0 {
        return Ok(None);
    }
    Ok(Some(PauseReason::FailedAssignments { assignments, last_round: record.round.number }))
}
