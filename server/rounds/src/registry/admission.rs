//! Whether a new task has its place beside the other tasks of its population.

use folkmoot_coordinator::{
    privacy::Amplification,
    task::{Fault, TaskDescription},
};
use folkmoot_privacy::Unit;
use folkmoot_storage::{ModelVersionRecord, StorageError, TaskRecord, TaskRepository};

use crate::{coordinator::Coordinator, privacy::Standing, refusal::Refusal};

/// Tasks of one population that may be active at the same time.
pub const ACTIVE_TASKS_MAX: usize = 64;
/// How often a population is looked at anew because it changed between the look and the transaction.
const ATTEMPTS_MAX: u32 = 16;

/// A task that was checked, with what was seen of its population.
pub(super) struct Prepared {
    pub(super) task: TaskRecord,
    pub(super) version: ModelVersionRecord,
    pub(super) standing: Standing,
}

/// Stores a task if its population is as it was when the task was checked. If it is not, the task is checked anew: of two
/// that were made at the same moment, the second finds the first.
pub(super) async fn admit(coordinator: &Coordinator, prepared: Prepared) -> Result<TaskRecord, Refusal> {
    let Prepared { task, version, mut standing } = prepared;
    let mut attempt = 1;
    loop {
        match coordinator.storage.admit_task(&task, &version, &standing.admission()).await {
            Ok(()) => return Ok(task),
            Err(StorageError::LeaveConflict) if attempt < ATTEMPTS_MAX => attempt += 1,
            Err(error) => return Err(error.into()),
        }
        standing = Standing::of(coordinator, task.organisation_id, &task.description.population).await?;
        let faults = population_faults(&standing, &task.description)?;
        if !faults.is_empty() {
            return Err(Refusal::faults(&faults));
        }
    }
}

/// Lists what speaks against a new task in its population: that it has only so many clients to share, and what everybody in
/// it was promised.
pub(super) fn population_faults(
    standing: &Standing,
    description: &TaskDescription,
) -> Result<Vec<Fault>, StorageError> {
    let mut faults = Vec::new();
    if standing.running() >= ACTIVE_TASKS_MAX {
        let message = format!("{} tasks of this population are active already", standing.running());
        faults.push(Fault::new("population", message, "wait until one is over, or cancel one"));
    }
    faults.extend(standing.budget_fault(None));
    let privacy = standing.privacy();
    if privacy.budget.is_some() && description.privacy.is_none() {
        let message = "the population has a privacy budget, and this task would spend without end";
        let remedy = "choose privacy.kind = \"central\" or \"local\", or train in another population";
        faults.push(Fault::new("privacy.kind", message, remedy));
    }
    faults.extend(standing.room_fault(description)?);
    let claims_sampling =
        description.privacy.central().is_some_and(|one| one.amplification == Amplification::Poisson);
    if privacy.unit == Unit::User && claims_sampling {
        let message = "the population's unit of privacy is the user, and devices are sampled, not users";
        faults.push(Fault::new("privacy.amplification", message, "choose amplification = \"none\""));
    }
    Ok(faults)
}
