use std::sync::Arc;

use folkmoot_coordinator::{invariants, round::Purpose, task::TaskInput};
use folkmoot_protocol::{TaskId, Timestamp};
use folkmoot_storage::{RoundRepository, TaskRecord, TaskRepository};

use super::{
    DriveError, advance::advance_round, evaluate, open, pause, release::forget_last_noise, rules::rules,
};
use crate::coordinator::Coordinator;

/// Advances a task by one step, and says whether another could follow at once.
///
/// # Errors
/// If nothing could be written; the task is as it was.
pub async fn drive_task(
    coordinator: &Arc<Coordinator>,
    id: TaskId,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let Some(task) = coordinator.storage.task_of_any_organisation(id).await? else { return Ok(false) };
    let rounds = coordinator.storage.unfinished_rounds(id).await?;
    let is_active = task.state.is_active();
    let is_open = |purpose| rounds.iter().any(|record| record.round.purpose == purpose);
    if is_active && evaluate::measure_centrally(coordinator, &task, now).await? {
        return Ok(true);
    }
    if is_active && complete(coordinator, &task, !is_open(Purpose::Training), now).await? {
        return Ok(true);
    }
    if is_active && !is_open(Purpose::Training) && pause::after_abandoned_rounds(coordinator, &task).await? {
        return Ok(true);
    }
    let falls_back = is_active && open::return_due(coordinator, &task).await?.is_some();
    for record in &rounds {
        let keeps_draws = rules(&task, record.round.purpose).borrow().policy.keeps_draws();
        invariants::check_round(&record.round, keeps_draws)?;
        if Box::pin(advance_round(coordinator, &task, record.clone(), falls_back, now)).await? {
            return Ok(true);
        }
    }
    if !is_active {
        return Ok(false);
    }
    if !is_open(Purpose::Training) {
        return if falls_back {
            open::return_to_best(coordinator, &task, now).await
        } else {
            open::open_training(coordinator, &task, now).await
        };
    }
    let may_evaluate = !is_open(Purpose::Evaluation);
    Ok(may_evaluate && open::open_evaluation(coordinator, &task, now).await?)
}

/// Ends a task whose stop conditions are met. Between two looks at the whole task only what can change by itself
/// is looked at.
async fn complete(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    is_between_rounds: bool,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let stop = &task.description.stop;
    if !(is_between_rounds || stop.needs_evaluation() || stop.hours.is_some()) {
        return Ok(false);
    }
    let Some(reason) = open::stop_reason(coordinator, task, 0, now).await? else { return Ok(false) };
    // Before the state, so that it is done again if the process ends in between.
    forget_last_noise(coordinator, task.id).await?;
    // The last version is measured before the task ends, if it can be at once.
    let state = task.state.step(TaskInput::Complete(reason))?;
    coordinator.storage.set_task_state(task.id, state, task.revision).await?;
    tracing::info!(task = %task.id, ?reason, "task completed");
    Ok(true)
}
