//! Performs the effects of a round's decisions as transactions.

use std::{collections::BTreeMap, sync::Arc};

use folkmoot_combine::NetworkClass;
use folkmoot_coordinator::{
    round::{Effect, Phase, Purpose},
    task::Candidate,
};
use folkmoot_protocol::{AssignmentId, ClientId, Timestamp, saturating::to_length};
use folkmoot_storage::{
    AssignmentRecord, AssignmentRepository, AssignmentStatus, CheckInRepository, CloseOutcome, DropReason,
    Rest, RoundRecord, RoundRepository, TaskRecord,
};

use super::{DriveError, secure};
use crate::{
    coordinator::Coordinator,
    noise::{StreamNoise, noise_scale},
    privacy,
    signals::Signal,
};

/// Performs the effects of a step, each in one transaction. At most one of them also stores the round's next phase.
/// `selection_state` is the state of the task's own selection after a draw.
pub async fn perform(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    next: &RoundRecord,
    effects: Vec<Effect>,
    selection_state: Option<&[u8]>,
    now: Timestamp,
) -> Result<(), DriveError> {
    let storage = &coordinator.storage;
    let goes_on = effects.iter().all(|effect| *effect != Effect::ExpireOutstanding);
    for effect in effects {
        match effect {
            Effect::Prefer { .. } => unreachable!("the caller has answered it"),
            Effect::Assign { clients, deadline, clocks } => {
                if next.round.purpose == Purpose::Training {
                    // Compute the parts before the assignments are stored, so that no client waits for them.
                    coordinator.parts_of(task, next.round.base_version).await?;
                }
                let assignments = assignments(coordinator, task, next, &clients, deadline, now).await?;
                storage.assign_and_keep(next, &assignments, &clocks, selection_state).await?;
                coordinator.crowds.drawn(task, clients.len() as u64, now);
                draw_noise_ahead(coordinator, task, next).await?;
                coordinator.signal(Signal::Assigned(clients));
            }
            Effect::Ask => {
                storage.store_phase(next).await?;
                let outstanding = storage.outstanding(task.id).await?;
                tracing::info!(task = %task.id, round = next.round.number, "stragglers are asked");
                metrics::counter!("folkmoot_rounds_asked_total").increment(1);
                let clients = outstanding.iter().map(|one| one.client_id);
                coordinator.signal(Signal::Asked(clients.collect()));
            }
            Effect::Drop(assignments) => {
                for id in assignments {
                    drop_assignment(coordinator, id, now).await?;
                }
            }
            Effect::ExpireOutstanding if next.round.phase.is_final() => {
                storage.abandon_round(next, now).await?;
                coordinator.committees.forget(next.round.id);
                coordinator.crowds.gave_up(task, now);
                if next.round.purpose == Purpose::Training {
                    coordinator.noises.forget(task.id);
                }
                coordinator.forget_unneeded_logs().await?;
            }
            Effect::ExpireOutstanding => {
                storage.close_reporting(next, Rest::Expires, now).await?;
                if matches!(next.round.phase, Phase::Unmasking { .. }) {
                    coordinator.wake_members(next).await?;
                }
            }
            Effect::CloseStep(step) => secure::close_step(coordinator, next, step, now).await?,
            Effect::Unmasked => {
                storage.store_phase(next).await?;
                coordinator.wake_members(next).await?;
            }
            // Nothing to do here: the next step aggregates the updates. That step can be repeated.
            Effect::Aggregate if goes_on => {
                storage.close_reporting(next, Rest::GoesOn, now).await?;
            }
            Effect::Aggregate => {}
        }
    }
    Ok(())
}

/// Starts to draw the noise of the round's version before the updates arrive. The noise does not depend on them.
async fn draw_noise_ahead(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    next: &RoundRecord,
) -> Result<(), DriveError> {
    if next.round.purpose != Purpose::Training {
        return Ok(());
    }
    let Some(terms) = privacy::terms(task).filter(|_| task.description.privacy.central().is_some()) else {
        return Ok(());
    };
    let (storage, base) = (&coordinator.storage, next.round.base_version);
    let version = coordinator.catalog.version(storage, task.id, base).await?;
    let steps = privacy::clipping_steps(task, &version).unwrap_or_default();
    let parameter_count = to_length(task.schema.parameter_count());
    let (draws, scale) = match &terms.stream {
        Some(stream) => {
            let noise = StreamNoise::begin(stream, parameter_count);
            let scale = noise.and_then(|noise| noise.scale(&terms, stream, steps));
            (StreamNoise::draws_of(stream, base + 1), scale)
        }
        None => (1, noise_scale(&terms, steps)),
    };
    // A scale that is out of range is reported when the round commits.
    if let Ok(scale) = scale {
        coordinator.noises.begin(task.id, next.round.id, parameter_count * draws, scale);
    }
    Ok(())
}

async fn drop_assignment(
    coordinator: &Arc<Coordinator>,
    id: AssignmentId,
    now: Timestamp,
) -> Result<(), DriveError> {
    let Some(assignment) = coordinator.storage.assignment(id).await? else { return Ok(()) };
    let reason = if assignment.deadline <= now { DropReason::Expired } else { DropReason::LeftBehind };
    // If the update was accepted in the meantime, the round uses it and still needs its log.
    if coordinator.storage.drop_assignment(id, &reason, now).await? == CloseOutcome::Dropped {
        coordinator.ingest.forget_assignment(assignment.round_id, id)?;
    }
    tracing::debug!(assignment = %id, ?reason, "assignment dropped");
    Ok(())
}

async fn assignments(
    coordinator: &Coordinator,
    task: &TaskRecord,
    next: &RoundRecord,
    clients: &[ClientId],
    deadline: Timestamp,
    now: Timestamp,
) -> Result<Vec<AssignmentRecord>, DriveError> {
    let slices = slices(coordinator, task, next, clients).await?;
    let assign = |client_id: &ClientId| AssignmentRecord {
        id: AssignmentId::from_random_bytes(coordinator.random_bytes()),
        organisation_id: task.organisation_id,
        task_id: task.id,
        round_id: next.round.id,
        round_number: next.round.number,
        purpose: next.round.purpose,
        client_id: *client_id,
        base_version: next.round.base_version,
        created_at: now,
        deadline,
        slices: slices.get(client_id).cloned().unwrap_or_default(),
        status: AssignmentStatus::Outstanding,
    };
    Ok(clients.iter().map(assign).collect())
}

/// Returns the client attributes to store with the assignments: for an evaluation, the attributes of its slices; for
/// training, the network class, unless the task is private.
async fn slices(
    coordinator: &Coordinator,
    task: &TaskRecord,
    next: &RoundRecord,
    clients: &[ClientId],
) -> Result<BTreeMap<ClientId, BTreeMap<String, String>>, DriveError> {
    if next.round.purpose == Purpose::Training {
        if !task.description.privacy.is_none() {
            return Ok(BTreeMap::new());
        }
        let network = |candidate: Candidate| {
            let class = NetworkClass::of(&candidate.attributes).name();
            (candidate.client_id, [(NetworkClass::ATTRIBUTE.to_owned(), class.to_owned())].into())
        };
        return Ok(coordinator.storage.candidates(clients).await?.into_iter().map(network).collect());
    }
    let federated = task.description.evaluation.as_ref().and_then(|one| one.federated.as_ref());
    let Some(federated) = federated.filter(|one| !one.slice_by.is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let drawn = coordinator.storage.candidates(clients).await?;
    let slices = drawn.into_iter().map(|candidate| {
        let mut attributes = candidate.attributes;
        attributes.retain(|name, _| federated.slice_by.contains(name));
        (candidate.client_id, attributes)
    });
    Ok(slices.collect())
}
