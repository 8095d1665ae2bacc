use std::sync::Arc;

use folkmoot_coordinator::{
    invariants,
    round::{AbandonReason, Effect, InvalidTransitionError, Phase, Round, RoundInput},
    task::{InvalidTaskTransitionError, TaskInput, TaskState},
};
use folkmoot_protocol::{AssignmentId, ClientId, RoundId, TaskId, Timestamp};
use folkmoot_storage::{
    AssignmentRecord, AssignmentRepository, AssignmentStatus, BlobStoreError, CheckInRepository,
    ModelVersionRepository, RoundLogError, RoundRecord, RoundRepository, StorageError, TaskRecord,
    TaskRepository,
};

use super::aggregate::aggregate;
use crate::coordinator::Coordinator;

/// Why a step could not be made. The next one tries again.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The storage failed, or another process was faster.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The round log failed.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// The blob store failed.
    #[error(transparent)]
    Blob(#[from] BlobStoreError),
    /// A bug of ours: nothing was written.
    #[error(transparent)]
    Invariant(#[from] invariants::BrokenInvariantError),
    /// A bug of ours: nothing was written.
    #[error(transparent)]
    Transition(#[from] InvalidTransitionError),
    /// The task cannot go where the step wanted it to.
    #[error(transparent)]
    Task(#[from] InvalidTaskTransitionError),
    /// The computation was interrupted.
    #[error("the aggregation was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// Advances a task by one step, and says whether another could follow at once.
///
/// # Errors
/// If nothing could be written; the task is as it was.
pub async fn drive_task(
    coordinator: &Arc<Coordinator>,
    id: TaskId,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let storage = &coordinator.storage;
    let Some(task) = storage.task_of_any_organisation(id).await? else { return Ok(false) };
    match storage.unfinished_round(id).await? {
        None if task.state == TaskState::Active => open_round(coordinator, &task, now).await,
        None => Ok(false),
        Some(record) => {
            invariants::check_round(&record.round)?;
            advance_round(coordinator, &task, record, now).await
        }
    }
}

async fn open_round(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let storage = &coordinator.storage;
    let (all, committed) = storage.round_counts(task.id).await?;
    if let Some(reason) = task.description.stop.met(committed) {
        let state = task.state.step(TaskInput::Complete(reason))?;
        storage.set_task_state(task.id, state, task.revision).await?;
        return Ok(false);
    }
    let Some(latest) = storage.latest_model_version(task.id).await? else {
        return Err(StorageError::NotFound("model version").into());
    };
    let round = Round {
        id: RoundId::from_random_bytes(coordinator.random_bytes()),
        task_id: task.id,
        number: all + 1,
        base_version: latest.number,
        phase: Phase::Selecting { since: now },
    };
    tracing::info!(task = %task.id, round = round.number, base_version = round.base_version, "round opened");
    let record = RoundRecord { organisation_id: task.organisation_id, round, created_at: now, revision: 0 };
    storage.open_round(&record).await?;
    Ok(true)
}

async fn advance_round(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: RoundRecord,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let input = match (&record.round.phase, stop_reason(task.state)) {
        (Phase::Aggregating { .. }, _) => return aggregate(coordinator, task, record, now).await,
        (_, Some(reason)) => RoundInput::Stop(reason),
        (Phase::Selecting { .. }, None) => RoundInput::Waiting(eligible(coordinator, task, now).await?),
        (_, None) => {
            let counts = coordinator.storage.report_counts(record.round.id).await?;
            invariants::every_assignment_is_counted_once(&record.round, counts)?;
            RoundInput::Reports(counts)
        }
    };
    let before = record.round.phase.clone();
    let description = &task.description;
    let policy = description.scheduling.policy();
    let (round, effects) = coordinator
        .with_chance(|rng| record.round.clone().step(input, policy, description.selection, now, rng))?;
    if round.phase == before {
        return Ok(false);
    }
    invariants::check_round(&round)?;
    let next = RoundRecord { round, ..record };
    perform(coordinator, task, &next, effects, now).await?;
    tracing::info!(
        task = %task.id, round = next.round.number, from = before.name(), to = next.round.phase.name(),
        phase = ?next.round.phase, "round advanced"
    );
    metrics::counter!("folkmoot_round_transitions_total", "phase" => next.round.phase.name()).increment(1);
    Ok(true)
}

/// Stores the round's next phase with what its effects ask for, in one transaction.
async fn perform(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    next: &RoundRecord,
    effects: Vec<Effect>,
    now: Timestamp,
) -> Result<(), DriveError> {
    let storage = &coordinator.storage;
    for effect in effects {
        match effect {
            Effect::Assign { clients, deadline } => {
                let assign = |client_id: &ClientId| AssignmentRecord {
                    id: AssignmentId::from_random_bytes(coordinator.random_bytes()),
                    organisation_id: task.organisation_id,
                    task_id: task.id,
                    round_id: next.round.id,
                    round_number: next.round.number,
                    client_id: *client_id,
                    base_version: next.round.base_version,
                    created_at: now,
                    deadline,
                    status: AssignmentStatus::Outstanding,
                };
                let assignments: Vec<_> = clients.iter().map(assign).collect();
                storage.begin_reporting(next, &assignments).await?;
                coordinator.wake(&clients);
            }
            Effect::ExpireOutstanding if next.round.phase.is_final() => {
                storage.abandon_round(next, now).await?;
                coordinator.ingest.forget_round(next.round.id)?;
            }
            Effect::ExpireOutstanding => {
                storage.close_reporting(next, now).await?;
            }
            // The next step aggregates: it can be repeated on its own.
            Effect::Aggregate => {}
        }
    }
    Ok(())
}

async fn eligible(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    now: Timestamp,
) -> Result<Vec<ClientId>, DriveError> {
    let description = &task.description;
    let waiting = coordinator.storage.waiting(task.organisation_id, &description.population, now).await?;
    let admitted = waiting.iter().filter(|candidate| description.eligibility.admits(candidate));
    Ok(admitted.map(|candidate| candidate.client_id).collect())
}

fn stop_reason(state: TaskState) -> Option<AbandonReason> {
    match state {
        TaskState::Active => None,
        TaskState::Draft | TaskState::Paused => Some(AbandonReason::TaskPaused),
        TaskState::Cancelled | TaskState::Completed { .. } => Some(AbandonReason::TaskCancelled),
    }
}
