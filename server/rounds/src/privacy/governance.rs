//! Whether a population may have another task.

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

/// What was seen of a population when a task wanted to be let in. The storage lets it in only if that still holds.
pub struct Standing {
    /// What is set for it.
    privacy: PopulationPrivacy,
    /// What was released.
    sum: LedgerSum,
    /// Its tasks that are active or have an open round, by id, each with whether it promises privacy.
    running: Vec<(TaskId, bool)>,
    /// The same, as the storage compares them.
    ids: Vec<TaskId>,
    name: PopulationName,
}

impl Standing {
    /// Looks at a population.
    ///
    /// # Errors
    /// If the storage fails.
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

    /// Returns what must still hold when the task is let in.
    pub fn admission(&self) -> Admission<'_> {
        Admission { privacy: self.privacy, entries: self.sum.entries, running: &self.ids }
    }

    /// Returns how many of the population's tasks run.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns what is set for everybody in it.
    pub fn privacy(&self) -> PopulationPrivacy {
        self.privacy
    }

    /// Says why a task may not run in the population: clients there were promised privacy by another task, and nothing
    /// bounds what tasks add up to. `task` is the task's own id, if it has one.
    pub fn budget_fault(&self, task: Option<TaskId>) -> Option<Fault> {
        if self.privacy.budget.is_some() {
            return None;
        }
        let has_spent = match task {
            Some(task) => self.sum.totals.has_others(task),
            None => !self.sum.totals.is_empty(),
        };
        // One that is under way may have released nothing yet.
        let has_promised = self.running.iter().any(|(id, promises)| *promises && Some(*id) != task);
        if !has_spent && !has_promised {
            return None;
        }
        let message =
            "another task of this population promises privacy, and nothing bounds what they spend together";
        let name = &self.name;
        let remedy = format!("set a budget first: folkmoot population set {name} --epsilon 10 --delta 1e-6");
        Some(Fault::new("population", message, &remedy))
    }

    /// Returns the budget that the next version of a task would pass, if it would pass one.
    ///
    /// # Errors
    /// If the ledger cannot be accounted.
    pub fn passed(
        &self,
        task: TaskId,
        description: &TaskDescription,
        ancestors: &[Ancestor],
    ) -> Result<Option<Passed>, StorageError> {
        let inherited = inherited(ancestors, &description.population);
        Ground::seen(self.privacy, self.sum.clone(), inherited).passed(task, description, 0, &[])
    }

    /// Says why the budget of all tasks of the population has no room for a new one.
    ///
    /// # Errors
    /// If the ledger cannot be accounted.
    pub fn room_fault(&self, description: &TaskDescription) -> Result<Option<Fault>, StorageError> {
        let passed = self.passed(TaskId::from_random_bytes([0; 16]), description, &[])?;
        let Some(passed @ Passed::Population { .. }) = passed else { return Ok(None) };
        let remedy =
            format!("raise the budget with a reason, {}, or train in another population", self.raise());
        Ok(Some(Fault::new("population", passed.to_string(), &remedy)))
    }

    /// Writes the command that raises the population's budget.
    pub fn raise(&self) -> String {
        format!("folkmoot population set {} --epsilon E --delta D --weaken REASON", self.name)
    }
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
