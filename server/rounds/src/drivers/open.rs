//! The steps of a task between rounds: open the next round, roll back to the best version, or complete.

use std::sync::Arc;

use folkmoot_coordinator::{
    round::{Phase, Purpose, Round},
    task::{Measured, Progress, StopReason},
};
use folkmoot_protocol::{RoundId, Timestamp, update::UpdateMetrics};
use folkmoot_storage::{
    EvaluationSource, ModelVersionRecord, ModelVersionRepository, RoundRecord, RoundRepository, StorageError,
    TaskRecord, VersionMaking,
};

use super::{
    DriveError,
    evaluate::{last_attempt, measured},
    versions::{latest, version},
};
use crate::{coordinator::Coordinator, privacy};

/// Returns the stop condition that a task meets, if any. `more` is the number of committed rounds that are not stored
pub async fn stop_reason(
    coordinator: &Coordinator,
    task: &TaskRecord,
    more: u64,
    now: Timestamp,
) -> Result<Option<StopReason>, DriveError> {
    let stop = &task.description.stop;
    let (_, committed) = coordinator.storage.round_counts(task.id).await?;
    let began_at = match stop.hours {
        Some(_) => coordinator.storage.first_round_at(task.id).await?,
        None => None,
    };
    let measured = if stop.needs_evaluation() { measured(coordinator, task).await? } else { Vec::new() };
    let met = stop.met(&Progress { committed: committed + more, began_at, now, measured: &measured });
    // Do not open a round whose version the privacy budget would not allow.
    match met {
        None if privacy::is_spent(coordinator, task, more).await? => Ok(Some(StopReason::PrivacyBudget)),
        met => Ok(met),
    }
}

/// Opens the next training round.
pub async fn open_training(
    coordinator: &Coordinator,
    task: &TaskRecord,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let latest = latest(coordinator, task).await?;
    let record = next_round(coordinator, task, Purpose::Training, latest.number, now).await?;
    coordinator.storage.open_round(&record).await?;
    tracing::info!(task = %task.id, round = record.round.number, base_version = latest.number, "round opened");
    Ok(true)
}

/// Opens an evaluation round for the newest version that is due, unless it was already evaluated.
pub async fn open_evaluation(
    coordinator: &Coordinator,
    task: &TaskRecord,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let Some(evaluation) = task.description.evaluation.as_ref().filter(|one| one.federated.is_some()) else {
        return Ok(false);
    };
    let latest = latest(coordinator, task).await?;
    // Evaluations may take longer than training rounds, so evaluate only the newest version that is due.
    let due = latest.number - latest.number % evaluation.every_versions.max(1);
    let last = last_attempt(coordinator, task, EvaluationSource::Federated).await?;
    if last.is_some_and(|version| version >= due) {
        return Ok(false);
    }
    let record = next_round(coordinator, task, Purpose::Evaluation, due, now).await?;
    coordinator.storage.open_round(&record).await?;
    tracing::info!(task = %task.id, round = record.round.number, version = due, "evaluation opened");
    Ok(true)
}

/// Creates the record of a task's next round.
pub async fn next_round(
    coordinator: &Coordinator,
    task: &TaskRecord,
    purpose: Purpose,
    base_version: u64,
    now: Timestamp,
) -> Result<RoundRecord, DriveError> {
    let (all, _) = coordinator.storage.round_counts(task.id).await?;
    let flow = task.description.scheduling.policy().flow().filter(|_| purpose == Purpose::Training);
    let phase = match flow {
        Some(_) => Phase::Collecting { since: now },
        None => Phase::Selecting { since: now },
    };
    let id = RoundId::from_random_bytes(coordinator.random_bytes());
    Ok(RoundRecord {
        organisation_id: task.organisation_id,
        round: Round { id, task_id: task.id, number: all + 1, purpose, base_version, phase },
        updates_max: flow.and_then(|flow| flow.updates_max),
        created_at: now,
        revision: 0,
    })
}

/// Returns the number of the best version if the task must roll back to it. That is the case if the last evaluation is
/// worse than the best one by more than the margin, and no rollback has followed that evaluation.
pub async fn return_due(coordinator: &Coordinator, task: &TaskRecord) -> Result<Option<u64>, DriveError> {
    let Some(evaluation) = task.description.evaluation.as_ref().filter(|one| one.rollback_margin.is_some())
    else {
        return Ok(None);
    };
    let measured: Vec<Measured> = measured(coordinator, task).await?;
    let Some(best) = evaluation.rollback(&measured) else { return Ok(None) };
    if version(coordinator, task, best).await?.dropped_at.is_some() {
        return Ok(None);
    }
    let fallen = measured.last().map_or(0, |last| last.version);
    // A rollback after the last evaluation created a version that was not evaluated yet.
    let since = coordinator.storage.model_versions(task.id, LOOK_BACK, None).await?;
    let is_done =
        since.iter().any(|version| version.number > fallen && version.making.rolled_back_to.is_some());
    Ok((!is_done).then_some(best))
}

/// The number of recent versions that are searched for a rollback.
const LOOK_BACK: u32 = 100;

/// Rolls back: releases the best version's weights as the newest version, and discards the finalizer's state.
pub async fn return_to_best(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let Some(best) = return_due(coordinator, task).await? else { return Ok(false) };
    let found = version(coordinator, task, best).await?;
    let version = release_again(coordinator, task, found, now).await?;
    tracing::warn!(task = %task.id, version, best, "the metric fell: returned to the best version");
    Ok(true)
}

/// Releases the weights of an earlier version as the newest version, and returns the new version's number. Discards the
/// finalizer's state.
///
/// # Errors
/// Fails if the storage fails, or another version was released meanwhile.
pub async fn release_again(
    coordinator: &Coordinator,
    task: &TaskRecord,
    found: ModelVersionRecord,
    now: Timestamp,
) -> Result<u64, StorageError> {
    let newest = coordinator.storage.latest_model_version(task.id).await?;
    let newest = newest.ok_or(StorageError::NotFound("model version"))?;
    let version = ModelVersionRecord {
        number: newest.number + 1,
        round_id: None,
        created_at: now,
        // No clients produced this version, so there are no client metrics.
        metrics: UpdateMetrics::default(),
        making: VersionMaking {
            rolled_back_to: Some(found.number),
            clipping_norm: newest.making.clipping_norm,
            ..VersionMaking::default()
        },
        ..found
    };
    coordinator.storage.release_version(task.organisation_id, &version).await?;
    Ok(version.number)
}
