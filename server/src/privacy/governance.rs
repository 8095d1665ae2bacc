//! Whether a population may have another task.

use folkmoot_coordinator::{
    privacy::Terms,
    task::{Fault, TaskDescription},
};
use folkmoot_privacy::{Delta, Epsilon};
use folkmoot_protocol::{OrganisationId, TaskId};
use folkmoot_storage::{Ancestor, LedgerRepository, StorageError, TaskRepository};

use super::{
    budget::{population, unreadable},
    inherited,
};
use crate::coordinator::Coordinator;

/// Says why a task may not run in its population: clients there were promised privacy by another task, and nothing bounds
/// what tasks add up to. `task` is the task's own id, if it has one.
///
/// # Errors
/// If the storage fails.
pub async fn budget_fault(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    description: &TaskDescription,
    task: Option<TaskId>,
) -> Result<Option<Fault>, StorageError> {
    let name = &description.population;
    if population(coordinator, organisation_id, name).await?.budget.is_some() {
        return Ok(None);
    }
    let sum = coordinator.storage.ledger_sum(organisation_id, name).await?;
    let has_spent = match task {
        Some(task) => sum.totals.has_others(task),
        None => !sum.totals.is_empty(),
    };
    if !has_spent && !has_promised(coordinator, organisation_id, description, task).await? {
        return Ok(None);
    }
    let message =
        "another task of this population promises privacy, and nothing bounds what they spend together";
    let remedy = format!("set a budget first: folkmoot population set {name} --epsilon 10 --delta 1e-6");
    Ok(Some(Fault::new("population", message, &remedy)))
}

/// Says whether another task that promises privacy is under way, though it may have released nothing yet.
async fn has_promised(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    description: &TaskDescription,
    task: Option<TaskId>,
) -> Result<bool, StorageError> {
    for id in coordinator.storage.tasks_to_drive().await?.into_iter().filter(|id| Some(*id) != task) {
        let other = coordinator.storage.task(organisation_id, id).await?;
        let is_one = other.is_some_and(|other| {
            other.description.population == description.population && !other.description.privacy.is_none()
        });
        if is_one {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Says why a task cannot begin with a version: what was spent on it leaves no room for another.
///
/// # Errors
/// If what was spent cannot be accounted.
pub fn lineage_fault(
    description: &TaskDescription,
    ancestors: &[Ancestor],
) -> Result<Option<Fault>, StorageError> {
    let inherited = inherited(ancestors, &description.population);
    let (Some(limits), Ok(Some(terms)), false) =
        (description.privacy.limits(), Terms::of(description), inherited.is_empty())
    else {
        return Ok(None);
    };
    let (Ok(epsilon), Ok(delta)) = (Epsilon::new(limits.epsilon), Delta::new(limits.delta)) else {
        return Ok(None);
    };
    let relation = terms.charge.noise_multiplier.relation();
    // Any id that no ancestor has.
    let task_id = TaskId::from_random_bytes([0; 16]);
    let is_within = inherited.allows(task_id, terms.charge, relation, (epsilon, delta));
    if is_within.map_err(|error| unreadable(&error))? {
        return Ok(None);
    }
    let spent = inherited.spent_under(relation, delta).map_err(|error| unreadable(&error))?;
    let message = format!(
        "the version with which it begins has cost its clients epsilon {:.3} at delta {delta:e} already, and one more \
         would pass {epsilon}",
        spent.epsilon.get()
    );
    let remedy = "raise epsilon, or begin with the model's own weights";
    Ok(Some(Fault::new("privacy.epsilon", message, remedy)))
}
