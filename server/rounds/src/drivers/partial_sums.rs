//! The sums of edge aggregators.

use folkmoot_coordinator::{round::Purpose, scheduling::SchedulingChoice, task::TaskState};
use folkmoot_protocol::{AssignmentId, Timestamp, saturating::to_length};
use folkmoot_storage::{
    AcceptedUpdate, ApiKeyId, ApiKeyRepository, AssignmentRepository, PartialSumRecord, RoundRecord,
    StorageError, TaskRecord,
};

use super::{DriveError, attenuations::attenuations, summed::Summed};
use crate::{
    combine::{PartialSum, SumQuestion, UpdateFactor, Weighed},
    coordinator::Coordinator,
    in_place::in_place,
};

/// Returns whether the edge aggregators have sent their sums of a closed round, and asks those that hold updates if nobody
/// was asked. An aggregator has as much time for its sum as clients had for their updates.
///
/// # Errors
/// Fails if the storage or the round log fails.
pub async fn summed(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
    now: Timestamp,
) -> Result<Summed, DriveError> {
    let SchedulingChoice::Synchronous(policy) = &task.description.scheduling else { return Ok(Summed::Yes) };
    let may_be_held = record.round.purpose == Purpose::Training && task.description.sums_at_the_edge();
    // A storage in memory has no aggregators.
    let Ok(database) = coordinator.storage.database() else { return Ok(Summed::Yes) };
    if !may_be_held {
        return Ok(Summed::Yes);
    }
    let aggregators = database.aggregators_of(record.round.id).await?;
    if aggregators.is_empty() {
        return Ok(Summed::Yes);
    }
    let sums = database.partial_sums(record.round.id).await?;
    if sums.is_empty() {
        let questions = questions(coordinator, task, record, &aggregators, now).await?;
        database.ask_for_sums(&questions).await?;
        return Ok(Summed::NotYet);
    }
    let silent: Vec<&ApiKeyId> =
        sums.iter().filter(|sum| sum.answer.is_none()).map(|sum| &sum.aggregator).collect();
    if silent.is_empty() {
        return Ok(Summed::Yes);
    }
    if task.state == TaskState::Cancelled {
        return Ok(Summed::Cancelled);
    }
    let asked_at = sums.iter().map(|sum| sum.asked_at).max().unwrap_or(now);
    if now.milliseconds_since(asked_at) < policy.reporting_deadline_seconds.saturating_mul(1000) {
        return Ok(Summed::NotYet);
    }
    let mut names = Vec::new();
    for id in silent {
        let key = coordinator.storage.api_key(id).await?;
        names.push(key.map_or_else(|| id.clone(), |key| format!("{} ({id})", key.name)));
    }
    Ok(Summed::Never(format!(
        "no sum has come from the edge aggregators {} within {} s; look at their logs, and start them again with their data folders",
        names.join(", "),
        policy.reporting_deadline_seconds
    )))
}

/// Lists the updates and factors for each aggregator.
async fn questions(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
    aggregators: &[ApiKeyId],
    now: Timestamp,
) -> Result<Vec<PartialSumRecord>, DriveError> {
    let accepted = coordinator.storage.accepted_updates(record.round.id).await?;
    let factors = factors(coordinator, task, record, &accepted).await?;
    let question = |aggregator: &ApiKeyId| {
        let held = accepted.iter().zip(&factors);
        let held = held.filter(|(update, _)| update.held.as_ref().is_some_and(|held| held.by == *aggregator));
        let updates = held.map(|(update, factor)| UpdateFactor::new(update.assignment_id, *factor)).collect();
        let question = SumQuestion { task_id: task.id, updates };
        let question = serde_json::to_string(&question);
        let question = question.map_err(|error| StorageError::Corrupt {
            what: "partial sum",
            detail: format!("the question cannot be written: {error}"),
        })?;
        Ok(PartialSumRecord {
            organisation_id: record.organisation_id,
            round_id: record.round.id,
            aggregator: aggregator.clone(),
            question,
            segment: AssignmentId::from_random_bytes(coordinator.random_bytes()),
            asked_at: now,
            answer: None,
        })
    };
    aggregators.iter().map(question).collect()
}

/// Returns the factor of each accepted update in the sum: 1 if updates are masked, because clients have multiplied them.
async fn factors(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
    accepted: &[AcceptedUpdate],
) -> Result<Vec<f64>, DriveError> {
    let (description, ingest) = (&task.description, &coordinator.ingest);
    if description.protection.is_masked() {
        return Ok(vec![1.0; accepted.len()]);
    }
    let parameter_count = to_length(task.schema.parameter_count());
    let measurement = description.aggregator.measurement();
    let sum = ingest.sum_of(record.round.id, description.grid, parameter_count, measurement);
    ingest.gather(accepted, Some(sum)).await?;
    let attenuations = attenuations(task, record.round.base_version, accepted);
    let updates = (accepted, &*attenuations);
    let weighed = in_place(|| Weighed::of(ingest, description, record.round.id, updates, parameter_count))?;
    Ok(weighed.factors)
}

/// Adds up the sums of the updates that edge aggregators hold. Returns `None` if they hold none.
///
/// # Errors
/// Fails if the storage, the store of updates or the round log fails, or a sum is not one of this round.
pub async fn read(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
    accepted: &[AcceptedUpdate],
) -> Result<Option<PartialSum>, DriveError> {
    if accepted.iter().all(|update| update.held.is_none()) {
        return Ok(None);
    }
    let (ingest, round) = (&coordinator.ingest, record.round.id);
    let values = to_length(task.schema.parameter_count());
    let is_masked = task.description.protection.is_masked();
    let mut total: Option<PartialSum> = None;
    for sum in coordinator.storage.database()?.partial_sums(round).await? {
        let answer = sum.answer.ok_or(StorageError::NotFound("partial sum"))?;
        if let Some(place) = &answer.place {
            ingest.gather_segment((round, sum.segment), answer.digest, place).await?;
        }
        in_place(|| {
            let mut reader = ingest.log().read(round, sum.segment)?;
            let mut bytes = vec![0; PartialSum::bytes(values, is_masked)];
            let count = reader.read_tile(&mut bytes)?;
            let sum = PartialSum::decode(&bytes[..count], values, is_masked)?;
            match &mut total {
                Some(total) => total.add(&sum),
                None => total = Some(sum),
            }
            Ok::<_, DriveError>(())
        })?;
    }
    Ok(total)
}
