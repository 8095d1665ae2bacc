use std::sync::Arc;

use folkmoot_coordinator::{
    invariants,
    round::{AbandonReason, Purpose, RoundInput},
};
use folkmoot_protocol::Timestamp;
use folkmoot_storage::{RoundRecord, TaskRecord, TaskRepository};

use super::noise::{discard_unreleased, forget_last_noise};
use crate::{
    coordinator::Coordinator,
    drivers::{DriveError, perform::perform, rules::rules},
};

/// Abandons an aggregating round, and deletes the blobs of its unreleased version.
///
/// # Errors
/// Fails if the storage fails; the round is unchanged.
pub async fn withhold(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    mut record: RoundRecord,
    reason: AbandonReason,
    now: Timestamp,
) -> Result<(), DriveError> {
    if record.round.purpose == Purpose::Training {
        record = discard_unreleased(coordinator, task, record).await?;
    }
    let (stop, rules) = (RoundInput::Stop(reason), rules(task, record.round.purpose));
    let (round, effects) =
        coordinator.with_chance(|rng| record.round.clone().step(stop, rules.borrow(), now, rng))?;
    invariants::check_round(&round, rules.borrow().policy.keeps_draws())?;
    perform(coordinator, task, &RoundRecord { round, ..record }, effects, None, now).await?;
    metrics::counter!("folkmoot_round_transitions_total", "phase" => "abandoned").increment(1);
    // If the task has ended, its noise state was kept only for the round that is now abandoned.
    match coordinator.storage.task_of_any_organisation(task.id).await? {
        Some(task) if task.state.is_final() => forget_last_noise(coordinator, task.id).await,
        _ => Ok(()),
    }
}
