use std::collections::BTreeMap;

use folkmoot_coordinator::{round::Purpose, task::Candidate};
use folkmoot_protocol::{
    DriftCorrection, ErrorCode, Timestamp, check_characters,
    limits::{ATTRIBUTE_BYTES_MAX, ATTRIBUTES_MAX, EXAMPLES_MAX},
    messages::{Artifact, Assignment, CheckInRequest, CheckInResponse},
};
use folkmoot_storage::{
    AssignmentRecord, AssignmentRepository, CheckInRecord, CheckInRepository, ClientRecord,
    EndorsementRepository, ModelVersionRecord, TaskRecord,
};

use super::seen::seen;
use crate::{coordinator::Coordinator, ingest::reports_metrics, privacy, refusal::Refusal, signals::Signal};

/// The maximum number of codecs that a client may list.
const CODECS_MAX: usize = 64;
/// The time, in milliseconds, that a client stays in the pool after its check-in has ended. A client that checks in
/// again at once therefore stays in the pool without a gap.
const OFFER_GRACE_MILLISECONDS: u64 = 10_000;

/// The longest time until a client of an organisation without bytes may check in again, in milliseconds. Half of the
/// window is for jitter.
const QUOTA_WAIT_MILLISECONDS: u64 = 15 * 60_000;

/// The properties of a client that determine how it compresses updates.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    /// The client's attributes.
    pub attributes: &'a BTreeMap<String, String>,
    /// The names of the codecs that the client can encode.
    pub codecs: &'a [String],
}

impl<'a> Offered<'a> {
    /// Borrows the properties from a check-in request.
    pub fn of(request: &'a CheckInRequest) -> Self {
        Self { attributes: &request.attributes, codecs: &request.codecs }
    }
}

/// Adds the client to the pool for `wait_milliseconds`. If it already has an assignment, returns that assignment
/// instead. If its organisation has used up the day's bytes, the client does not enter the pool.
///
/// # Errors
/// Fails if the request exceeds a limit or the storage fails.
pub async fn check_in(
    coordinator: &Coordinator,
    client: &ClientRecord,
    request: &CheckInRequest,
    wait_milliseconds: u64,
    now: Timestamp,
) -> Result<Option<Assignment>, Refusal> {
    check_limits(request)?;
    seen(coordinator, client, Some(request), now).await;
    let offered = Offered::of(request);
    if coordinator.tenants.wait_milliseconds(client.organisation_id, now).is_some() {
        return assignment_of(coordinator, client, offered, now).await;
    }
    let check_in = CheckInRecord {
        organisation_id: client.organisation_id,
        population: client.population.clone(),
        candidate: Candidate {
            client_id: client.id,
            example_count: request.example_count,
            attributes: request.attributes.clone(),
            sdk_version: request.sdk_version.clone(),
        },
        at: now,
        expires_at: offer_ends(wait_milliseconds, now),
    };
    let turn = coordinator.tenants.turn(client.organisation_id).await;
    let is_in_pool = coordinator.storage.check_in(&check_in).await?;
    drop(turn);
    if !is_in_pool {
        return assignment_of(coordinator, client, offered, now).await;
    }
    coordinator.signal(Signal::Fact);
    Ok(None)
}

/// Returns the expiry of an offer that is made at `now`.
pub fn offer_ends(wait_milliseconds: u64, now: Timestamp) -> Timestamp {
    now.plus_milliseconds(wait_milliseconds + OFFER_GRACE_MILLISECONDS)
}

/// Answers a check-in at the end of its wait: with an assignment, or with the retry window and the blob to prefetch.
///
/// Withdraws the client's offer if the client waited and its retry window begins after the offer's grace time: a cohort
/// must not be drawn from clients that are gone. A client that did not wait keeps its offer.
///
/// # Errors
/// Fails if the storage fails.
pub async fn end_wait(
    coordinator: &Coordinator,
    client: &ClientRecord,
    offered: Offered<'_>,
    wait_milliseconds: u64,
    now: Timestamp,
) -> Result<CheckInResponse, Refusal> {
    // A client that did not wait was looked up a moment ago, when it was added to the pool.
    if wait_milliseconds > 0
        && let Some(assignment) = assignment_of(coordinator, client, offered, now).await?
    {
        return Ok(CheckInResponse::Assigned { assignment });
    }
    let (organisation, population) = (client.organisation_id, &client.population);
    if let Some(left) = coordinator.tenants.wait_milliseconds(organisation, now) {
        let retry_after_milliseconds_min = left.min(QUOTA_WAIT_MILLISECONDS);
        return Ok(CheckInResponse::Wait {
            retry_after_milliseconds_min,
            retry_after_milliseconds_max: retry_after_milliseconds_min + QUOTA_WAIT_MILLISECONDS,
            offered: None,
        });
    }
    let (limits, processes) = (coordinator.retry_limits, coordinator.processes.count());
    let window = coordinator.crowds.retry_window(organisation, population, processes, limits, now);
    let leaves = wait_milliseconds > 0 && window.milliseconds_min > OFFER_GRACE_MILLISECONDS;
    // If the pool no longer contains the client, a round has just selected it.
    if leaves
        && !withdraw(coordinator, client).await?
        && let Some(assignment) = assignment_of(coordinator, client, offered, now).await?
    {
        return Ok(CheckInResponse::Assigned { assignment });
    }
    Ok(CheckInResponse::Wait {
        retry_after_milliseconds_min: window.milliseconds_min,
        retry_after_milliseconds_max: window.milliseconds_max,
        offered: coordinator.crowds.offered(organisation, population),
    })
}

async fn withdraw(coordinator: &Coordinator, client: &ClientRecord) -> Result<bool, Refusal> {
    let _turn = coordinator.tenants.turn(client.organisation_id).await;
    Ok(coordinator.storage.withdraw_check_in(client.id).await?)
}

/// Returns the client's outstanding assignment, if its deadline has not passed.
///
/// # Errors
/// Fails if the storage fails.
pub async fn assignment_of(
    coordinator: &Coordinator,
    client: &ClientRecord,
    offered: Offered<'_>,
    now: Timestamp,
) -> Result<Option<Assignment>, Refusal> {
    let Some(record) = coordinator.storage.outstanding_assignment(client.id).await? else { return Ok(None) };
    if record.deadline <= now {
        return Ok(None);
    }
    assignment_message(coordinator, &record, offered, now).await.map(Some)
}

async fn assignment_message(
    coordinator: &Coordinator,
    record: &AssignmentRecord,
    offered: Offered<'_>,
    now: Timestamp,
) -> Result<Assignment, Refusal> {
    let (catalog, storage) = (&coordinator.catalog, &coordinator.storage);
    let task = catalog.task(storage, record.task_id).await?;
    let plan = match (record.purpose, task.evaluation_plan) {
        (Purpose::Evaluation, Some(plan)) => plan,
        _ => Artifact { digest: task.plan, bytes: task.plan_bytes },
    };
    let version = catalog.version(storage, record.task_id, record.base_version).await?;
    // A client that does not support the codec sends float32.
    let recipe = match record.purpose {
        Purpose::Training => task.description.recipe_for(offered.attributes, offered.codecs),
        Purpose::Evaluation => None,
    };
    // A client that does not support the codecs downloads float32. Evaluations measure the exact version.
    let knows_codecs = task.description.downstream.is_some_and(|one| one.is_of(offered.codecs));
    let weights_parts = match record.purpose {
        Purpose::Training if knows_codecs => coordinator.parts_of(&task, record.base_version).await?,
        _ => None,
    };
    Ok(Assignment {
        assignment_id: record.id,
        task_id: record.task_id,
        round_id: record.round_id,
        round_number: record.round_number,
        base_version: record.base_version,
        plan,
        model: Artifact { digest: task.model, bytes: task.model_bytes },
        weights: Artifact { digest: version.weights, bytes: version.weights_bytes },
        weights_parts: weights_parts.map(|parts| parts.to_vec()).unwrap_or_default(),
        control_variate: control_variate(&task, &version).filter(|_| record.purpose == Purpose::Training),
        deadline: record.deadline,
        deadline_in_milliseconds: record.deadline.milliseconds_since(now),
        clipping_norm: privacy::clipping_steps(&task, &version),
        recipe: recipe.cloned().map(Box::new),
        may_be_asked: record.purpose == Purpose::Training && task.description.scheduling.policy().asks(),
        cohort_min: Some(task.description.cohort_min(record.purpose)),
        protection_level: Some(task.description.protection_level(record.purpose)),
        is_masked: record.purpose == Purpose::Training && task.description.protection.exchange().is_some(),
        metric_sums: record.purpose == Purpose::Evaluation && reports_metrics(&task.description),
        endorsement: storage.endorsement(record.task_id).await?,
    })
}

/// Returns the control variate of a version: the finalizer's state, if clients share one control variate.
pub(super) fn control_variate(task: &TaskRecord, version: &ModelVersionRecord) -> Option<Artifact> {
    let drift = task.description.finalizer.drift_correction();
    let values = drift.map(DriftCorrection::downloaded_values).filter(|values| *values > 0)?;
    // A value is a float32, as each weight is.
    Some(Artifact { digest: version.making.finalizer_state?, bytes: values * version.weights_bytes })
}

fn check_limits(request: &CheckInRequest) -> Result<(), Refusal> {
    let refuse = |detail: String| Err(Refusal::new(ErrorCode::MalformedRequest, detail));
    if request.example_count > EXAMPLES_MAX {
        return refuse(format!("example_count is above the limit of {EXAMPLES_MAX}; send a smaller count"));
    }
    if request.attributes.len() > ATTRIBUTES_MAX {
        return refuse(format!("too many attributes: the limit is {ATTRIBUTES_MAX}; send fewer"));
    }
    if request.codecs.len() > CODECS_MAX || request.codecs.iter().any(|name| name.len() > ATTRIBUTE_BYTES_MAX)
    {
        return refuse(format!(
            "codecs lists more than {CODECS_MAX} names, or a name of more than {ATTRIBUTE_BYTES_MAX} bytes; list fewer or shorter names"
        ));
    }
    let texts =
        request.attributes.iter().flat_map(|(name, value)| [name, value]).chain([&request.sdk_version]);
    if texts.clone().any(|text| text.len() > ATTRIBUTE_BYTES_MAX) {
        return refuse(format!(
            "an attribute's name or value, or sdk_version, is longer than {ATTRIBUTE_BYTES_MAX} bytes; shorten it"
        ));
    }
    for text in texts.chain(&request.codecs) {
        check_characters(text).or_else(|fault| {
            refuse(format!(
                "an attribute, a codec or sdk_version contains characters that cannot be displayed: {fault}"
            ))
        })?;
    }
    Ok(())
}
