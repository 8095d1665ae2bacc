//! Waits for the committee of a round to sum its masks.

use std::sync::Arc;

use folkmoot_coordinator::{round::Purpose, task::TaskState};
use folkmoot_protocol::{
    AssignmentId, Timestamp,
    secure::{CommitteeRound, CommitteeTerms},
};
use folkmoot_secure_aggregation::{Context, Ring};
use folkmoot_storage::{AssignmentRepository, RoundRecord, TaskRecord};
use folkmoot_unmasking::{
    CommitteeSum, CommitteeSumError, Progress, RingSums, UnmaskError, blame_for_seals, committee_round,
};

use super::{DriveError, summed::Summed, versions::version};
use crate::{coordinator::Coordinator, signals::Signal};

/// Returns whether the committee has summed the masks of a closed round, and asks it if nobody has. Blames clients that have
/// spoiled the round.
///
/// # Errors
/// Fails if the storage fails.
pub async fn summed(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: &RoundRecord,
    now: Timestamp,
) -> Result<Summed, DriveError> {
    let is_training = record.round.purpose == Purpose::Training;
    let Some(settings) = task.description.protection.committee().filter(|_| is_training) else {
        return Ok(Summed::Yes);
    };
    let (asking, telling) = (coordinator.clone(), coordinator.clone());
    let waited = now.milliseconds_since(record.round.phase.since());
    let is_last =
        task.state == TaskState::Cancelled || waited >= settings.give_up_seconds.saturating_mul(1000);
    let (task, round) = (task.clone(), record.clone());
    let ask = async move { ask(&asking, &task, &round).await };
    let tell = move || telling.signal(Signal::Fact);
    let error = match coordinator.committees.of(record.round.id, now, is_last, ask, tell) {
        Progress::Found(_) => return Ok(Summed::Yes),
        Progress::Asking => return Ok(Summed::NotYet),
        Progress::Failed(error, _) => error,
    };
    if error.may_pass() && !is_last {
        return Ok(Summed::NotYet);
    }
    if let CommitteeSumError::Accused(clients) = &error {
        blame_for_seals(&coordinator.storage, record, clients).await?;
    }
    Ok(Summed::Never(error.to_string()))
}

async fn ask(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<RingSums, CommitteeSumError> {
    let (terms, context, ring, round) = question(coordinator, task, record).await.map_err(|error| {
        if error.is_of_log() {
            // The log is only a copy: the next attempt copies it again.
            coordinator.ingest.distrust(record.round.id);
        }
        CommitteeSumError::Inputs(error.to_string())
    })?;
    CommitteeSum::new(coordinator.committee.as_ref(), &terms, context, ring).find(round).await
}

async fn question(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<(CommitteeTerms, Context, Ring, CommitteeRound), DriveError> {
    let (description, parameter_count) = (&task.description, task.schema.parameter_count());
    let terms = description.committee_terms().ok_or(UnmaskError::NotSecure)?;
    let ring = description.ring(parameter_count).ok_or(UnmaskError::NotSecure)?;
    let weights = version(coordinator, task, record.round.base_version).await?.weights;
    let context = Context { task_id: task.id, round_id: record.round.id, plan: task.plan, weights };
    let plan = String::from_utf8_lossy(&coordinator.blobs.get(task.plan).await?).into_owned();
    let accepted = coordinator.storage.accepted_updates(record.round.id).await?;
    coordinator.ingest.gather(&accepted, None).await?;
    let accepted: Vec<AssignmentId> = accepted.iter().map(|update| update.assignment_id).collect();
    let shape = (ring, parameter_count);
    let round = committee_round(coordinator.ingest.log(), (&context, &terms, plan), shape, &accepted)?;
    Ok((terms, context, ring, round))
}
