//! Gathers the facts on which the decisions about open rounds are based.

use std::collections::BTreeSet;

use folkmoot_coordinator::{
    participation::Waiting,
    round::{Collected, Gathered, Purpose, Round},
    scheduling::{Member, SchedulingPolicy},
    selection::TokenCounts,
};
use folkmoot_protocol::Timestamp;
use folkmoot_storage::{
    AssignmentRepository, ClientRepository, ModelVersionRepository, ParticipationRepository, TaskRecord,
};

use super::DriveError;
use crate::coordinator::Coordinator;

/// The number of recent versions for which the distance to the newest version is computed. Older versions are treated
/// as infinitely far away.
const CHANGES_MAX: u32 = 256;

/// Gathers the facts for a round that draws a cohort: the eligible waiting clients that the population's other tasks
/// leave to this task, and whether the population is so large that extra clients drawn now are not missed later.
pub async fn waiting(
    coordinator: &Coordinator,
    task: &TaskRecord,
    round: &Round,
    now: Timestamp,
) -> Result<Gathered, DriveError> {
    let pool = pool(coordinator, task, now).await?;
    let wants = match round.purpose {
        Purpose::Training => match task.description.sampled() {
            Some(sampled) => sampled.concurrency(),
            None => task.description.scheduling.policy().concurrency(),
        },
        Purpose::Evaluation => {
            let federated = task.description.evaluation.as_ref().and_then(|one| one.federated.as_ref());
            federated.map_or(0, |one| one.report_goal)
        }
    };
    let eligible = task.description.eligible(pool, round, now);
    let waiting = coordinator.crowds.share(task, wants, eligible, now);
    let crowd = task.description.scheduling.policy().crowd().filter(|_| round.purpose == Purpose::Training);
    let is_crowd = match crowd {
        // Skip the query if too few clients wait for a draw, because its result would not change the decision.
        Some(_) if (waiting.len() as u64) < task.description.scheduling.policy().updates().0 => true,
        Some(crowd) => {
            let population = &task.description.population;
            coordinator.storage.has_clients(task.organisation_id, population, crowd).await?
        }
        None => true,
    };
    Ok(Gathered { waiting, is_crowd, preferred: None })
}

/// Gathers the facts for a flow, in which clients start and report continuously.
pub async fn collected(
    coordinator: &Coordinator,
    task: &TaskRecord,
    round: &Round,
    now: Timestamp,
) -> Result<Collected, DriveError> {
    let storage = &coordinator.storage;
    let policy = task.description.scheduling.policy();
    let Some(flow) = policy.flow() else { return Ok(Collected::default()) };
    let counts = storage.flow_counts(task.id, round.id).await?;
    let outstanding = storage.outstanding(task.id).await?;
    let places = policy.concurrency().saturating_sub(counts.outstanding);
    // If all places are taken, no client can start, so skip the query for waiting clients.
    let pool = if places > 0 || flow.absence_milliseconds.is_some() {
        pool(coordinator, task, now).await?
    } else {
        Vec::new()
    };
    let in_pool: BTreeSet<_> = pool.iter().map(|client| client.candidate.client_id).collect();
    let eligible = task.description.eligible(pool, round, now);
    let members = match flow.absence_milliseconds {
        Some(absence) => {
            let histories = storage.participations(task.id).await?;
            Member::list(&histories, &outstanding, &in_pool, &eligible, absence, now)
        }
        None => Vec::new(),
    };
    let changes = if flow.needs_changes {
        let versions = storage.model_versions(task.id, CHANGES_MAX, None).await?;
        versions.iter().map(|version| version.making.change_norm).collect()
    } else {
        Vec::new()
    };
    let tokens = match task.description.token_share_max {
        Some(_) => storage.flow_tokens(task.id, round.id).await?,
        None => TokenCounts::new(),
    };
    let waiting = coordinator.crowds.share(task, places, eligible, now);
    Ok(Collected { waiting, counts, outstanding, members, changes, tokens, preferred: None })
}

async fn pool(
    coordinator: &Coordinator,
    task: &TaskRecord,
    now: Timestamp,
) -> Result<Vec<Waiting>, DriveError> {
    let population = &task.description.population;
    Ok(coordinator.storage.waiting_for(task.organisation_id, population, task.id, now).await?)
}
