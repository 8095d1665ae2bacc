//! Checks whether a population's privacy budget allows another task.

use folkmoot_coordinator::{
    privacy::{PopulationPrivacy, Terms},
    task::{Fault, TaskDescription},
};
use folkmoot_privacy::{Delta, Epsilon};
use folkmoot_protocol::{OrganisationId, PopulationName, TaskId};
use folkmoot_storage::{Admission, Ancestor, LedgerRepository, LedgerSum, StorageError, TaskRepository};

use super::{
    Ground, Passed,
    budget::{population, unreadable},
    inherited,
};
use crate::coordinator::Coordinator;

/// The state of a population when a new task was checked. The storage accepts the task only if this state still holds.
pub struct Standing {
    /// The population's privacy settings.
    privacy: PopulationPrivacy,
    /// The sum of the population's ledger.
    sum: LedgerSum,
    /// The population's tasks that are active or have an open round, by id. The flag is true for a private task.
    running: Vec<(TaskId, bool)>,
    /// The ids of `running`. The storage compares this list with the tasks that run when the new task is stored.
    ids: Vec<TaskId>,
    name: PopulationName,
}

impl Standing {
    /// Reads the state of a population.
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn of(
        coordinator: &Coordinator,
        organisation_id: OrganisationId,
        name: &PopulationName,
    ) -> Result<Self, StorageError> {
        let storage = &coordinator.storage;
        let privacy = population(coordinator, organisation_id, name).await?;
        let sum = storage.ledger_sum(organisation_id, name).await?;
        let mut running = Vec::new();
        for id in storage.tasks_to_drive().await? {
            let task = match coordinator.catalog.task(storage, id).await {
                Ok(task) => task,
                Err(StorageError::NotFound(_)) => continue,
                Err(error) => return Err(error),
            };
            if task.organisation_id == organisation_id && task.description.population == *name {
                running.push((id, !task.description.privacy.is_none()));
            }
        }
        let ids = running.iter().map(|(id, _)| *id).collect();
        Ok(Self { privacy, sum, running, ids, name: name.clone() })
    }

    /// Returns the conditions that must still hold when the task is stored.
    pub fn admission(&self) -> Admission<'_> {
        Admission { privacy: self.privacy, entries: self.sum.entries, running: &self.ids }
    }

    /// Returns the number of running tasks in the population.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns the population's privacy settings.
    pub fn privacy(&self) -> PopulationPrivacy {
        self.privacy
    }

    /// Returns a fault if the task would need a population budget: another task has promised privacy to the same
    /// clients, and no budget limits the total. `task` is the id of the checked task, if it has one.
    pub fn budget_fault(&self, task: Option<TaskId>) -> Option<Fault> {
        if self.privacy.budget.is_some() {
            return None;
        }
        let has_spent = match task {
            Some(task) => self.sum.totals.has_others(task),
            None => !self.sum.totals.is_empty(),
        };
        // A running task may have promised privacy without having released a version.
        let has_promised = self.running.iter().any(|(id, promises)| *promises && Some(*id) != task);
        if !has_spent && !has_promised {
            return None;
        }
        let message = "another task of this population is private, and no budget limits their total spending";
        let name = &self.name;
        let remedy = format!("set a budget first: folkmoot population set {name} --epsilon 10 --delta 1e-6");
        Some(Fault::new("population", message, &remedy))
    }

    /// Returns the budget that the task's next version would exceed, if any.
    ///
    /// # Errors
    /// Fails if the ledger cannot be accounted.
    pub fn passed(
        &self,
        task: TaskId,
        description: &TaskDescription,
        ancestors: &[Ancestor],
    ) -> Result<Option<Passed>, StorageError> {
        let inherited = inherited(ancestors, &description.population);
        Ground::seen(self.privacy, self.sum.clone(), inherited).passed(task, description, 0, &[])
    }

    /// Returns a fault if the rest of the population's budget is too small for a new task.
    ///
    /// # Errors
    /// Fails if the ledger cannot be accounted.
    pub fn room_fault(&self, description: &TaskDescription) -> Result<Option<Fault>, StorageError> {
        let passed = self.passed(TaskId::from_random_bytes([0; 16]), description, &[])?;
        let Some(passed @ Passed::Population { .. }) = passed else { return Ok(None) };
        let remedy =
            format!("raise the budget with a reason, {}, or train in another population", self.raise());
        Ok(Some(Fault::new("population", passed.to_string(), &remedy)))
    }

    /// Returns the command that raises the population's budget.
    pub fn raise(&self) -> String {
        format!("folkmoot population set {} --epsilon E --delta D --weaken REASON", self.name)
    }
}

/// Returns a fault if a task cannot start from a version, because the cost of that version leaves no budget for
/// another.
///
/// # Errors
/// Fails if the cost cannot be accounted.
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
    // An arbitrary id that no ancestor has.
    let task_id = TaskId::from_random_bytes([0; 16]);
    let is_within = inherited.allows(task_id, terms.charge, relation, (epsilon, delta));
    if is_within.map_err(|error| unreadable(&error))? {
        return Ok(None);
    }
    let spent = inherited.spent_under(relation, delta).map_err(|error| unreadable(&error))?;
    let message = format!(
        "the initial version has already cost this population's clients epsilon {:.3} at delta {delta:e}, and one \
         more version would exceed {epsilon}",
        spent.epsilon.get()
    );
    let remedy = "raise epsilon, or start from the model's own weights";
    Ok(Some(Fault::new("privacy.epsilon", message, remedy)))
}
