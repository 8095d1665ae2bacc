use folkmoot_api::endorsements::{EndorsementView, PlanView};
use folkmoot_coordinator::round::Purpose;
use folkmoot_protocol::{
    BlobDigest, ErrorCode, Timestamp, Work,
    endorsement::{EndorsedPlan, Endorsement, TaskStatement},
};
use folkmoot_storage::{EndorsementRecord, EndorsementRepository, StorageError, TaskRecord};

use crate::{coordinator::Coordinator, refusal::Refusal};

/// Returns the model and the plans that a task gives to clients, and the endorsement in force.
///
/// # Errors
/// Fails if the storage fails.
pub async fn endorsement_of(
    coordinator: &Coordinator,
    task: &TaskRecord,
) -> Result<EndorsementView, Refusal> {
    let mut plans = Vec::new();
    for (work, promise) in promises(task) {
        let bytes = coordinator.blobs.get(promise.digest).await?;
        plans.push(PlanView { work, promise, text: String::from_utf8_lossy(&bytes).into_owned() });
    }
    let signed = coordinator.storage.endorsement(task.id).await?;
    let endorsement = signed.map(|signed| Endorsement::parse(&signed)).transpose();
    Ok(EndorsementView {
        task_id: task.id,
        model: task.model,
        plans,
        endorsement: endorsement.map_err(|error| Refusal::internal(&error))?,
    })
}

/// Publishes an endorsement. From then on, every assignment of the task carries it.
///
/// The coordinator does not know which keys apps have pinned. It refuses endorsements that no client would accept.
///
/// # Errors
/// A refusal if the endorsement is not valid, is not about what the task gives to clients, or has a number that is not
/// above the last one. Also fails if the storage fails.
pub async fn endorse(
    coordinator: &Coordinator,
    task: &TaskRecord,
    endorsement: &Endorsement,
    now: Timestamp,
) -> Result<(), Refusal> {
    let refuse = |detail: String| Refusal::new(ErrorCode::MalformedRequest, detail);
    let statement = endorsement.verify().map_err(|error| {
        refuse(format!("the endorsement is not valid: {error}; sign the statement again"))
    })?;
    if let Some(fault) = fault(&statement, task, now) {
        let again = "run `folkmoot endorsement prepare` again, and sign its statement";
        return Err(refuse(format!("the statement {fault}; {again}")));
    }
    let record = EndorsementRecord {
        organisation_id: task.organisation_id,
        task_id: task.id,
        sequence: statement.sequence,
        signed: serde_json::to_string(endorsement).map_err(|error| Refusal::internal(&error))?,
        public_key: endorsement.public_key.clone(),
        published_at: now,
    };
    match coordinator.storage.publish_endorsement(&record).await {
        Err(StorageError::RevisionConflict(_)) => {
            let detail = format!(
                "the task already has an endorsement with the number {} or a higher one; prepare and sign a new one",
                statement.sequence
            );
            Err(Refusal::new(ErrorCode::TaskStateConflict, detail))
        }
        published => Ok(published?),
    }
}

/// Returns the reason why no client of this task would accept the statement; `None` if clients could accept it.
fn fault(statement: &TaskStatement, task: &TaskRecord, now: Timestamp) -> Option<String> {
    if statement.task_id != task.id {
        return Some(format!("is about the task {}, and not about {}", statement.task_id, task.id));
    }
    if statement.model != task.model {
        return Some("names a model that is not the task's".to_owned());
    }
    if statement.expires_at <= now {
        return Some("has expired".to_owned());
    }
    for (work, promise) in promises(task) {
        let named = statement.plans.iter().find(|plan| plan.digest == promise.digest);
        let Some(named) = named else { return Some(format!("does not name the plan for {}", name(work))) };
        if promise.cohort_min < named.cohort_min {
            let (named, promised) = (named.cohort_min, promise.cohort_min);
            return Some(format!("asks for cohorts of {named}, but the task combines {promised}"));
        }
        if promise.protection_level < named.protection_level {
            let (named, promised) = (named.protection_level, promise.protection_level);
            return Some(format!("asks for the protection {named}, but the task has {promised}"));
        }
    }
    None
}

/// Lists the task's plans, with what its assignments promise.
fn promises(task: &TaskRecord) -> Vec<(Work, EndorsedPlan)> {
    let promise = |digest: BlobDigest, purpose| EndorsedPlan {
        digest,
        cohort_min: task.description.cohort_min(purpose),
        protection_level: task.description.protection_level(purpose),
    };
    let training = (Work::Training, promise(task.plan, Purpose::Training));
    let evaluation =
        task.evaluation_plan.map(|plan| (Work::Evaluation, promise(plan.digest, Purpose::Evaluation)));
    std::iter::once(training).chain(evaluation).collect()
}

fn name(work: Work) -> &'static str {
    match work {
        Work::Training => "training",
        Work::Evaluation => "evaluation",
    }
}
