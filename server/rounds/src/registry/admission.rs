//! Admission of a new task to a population that may have other tasks.

use folkmoot_coordinator::{
    privacy::Amplification,
    task::{Fault, TaskDescription},
};
use folkmoot_privacy::Unit;
use folkmoot_storage::{ModelVersionRecord, StorageError, TaskRecord, TaskRepository};

use crate::{coordinator::Coordinator, privacy::Standing, refusal::Refusal};

/// The maximum number of active tasks in a population.
pub const ACTIVE_TASKS_MAX: usize = 64;
/// The maximum number of attempts to store a task. An attempt fails if the population changes between check and
/// transaction.
const ATTEMPTS_MAX: u32 = 16;

/// A task that passed its checks, with the state of its population at that time.
pub(super) struct Prepared {
    pub(super) task: TaskRecord,
    pub(super) version: ModelVersionRecord,
    pub(super) standing: Standing,
}

/// Stores a task if its population has not changed since the check; otherwise checks the task again. So if two tasks
/// are created at the same time, the check of the second task includes the first.
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

/// Lists the population's objections to a new task: too many active tasks, or a conflict with its privacy budget or
/// unit.
pub(super) fn population_faults(
    standing: &Standing,
    description: &TaskDescription,
) -> Result<Vec<Fault>, StorageError> {
    let mut faults = Vec::new();
    if standing.running() >= ACTIVE_TASKS_MAX {
        let message =
            format!("this population already has {} active tasks, which is the limit", standing.running());
        faults.push(Fault::new("population", message, "wait until an active task ends, or cancel one"));
    }
    faults.extend(standing.budget_fault(None));
    let privacy = standing.privacy();
    if privacy.budget.is_some() && description.privacy.is_none() {
        let message =
            "the population has a privacy budget, and this task has no privacy, so its cost has no limit";
        let remedy = "choose privacy.kind = \"central\" or \"local\", or train in another population";
        faults.push(Fault::new("privacy.kind", message, remedy));
    }
    faults.extend(standing.room_fault(description)?);
    let claims_sampling =
        description.privacy.central().is_some_and(|one| one.amplification == Amplification::Poisson);
    if privacy.unit == Unit::User && claims_sampling {
        let message = "sampling draws devices, but the population's unit of privacy is the user";
        faults.push(Fault::new("privacy.amplification", message, "choose amplification = \"none\""));
    }
    Ok(faults)
}
