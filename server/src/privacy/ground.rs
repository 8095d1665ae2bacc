//! Whether a task may release one more version.

use folkmoot_coordinator::privacy::{PopulationBudget, PopulationPrivacy};
use folkmoot_privacy::{
    Delta, Epsilon, Relation, Unit,
    ledger::{Charge, Participation, Totals},
};
use folkmoot_protocol::TaskId;
use folkmoot_storage::{
    LedgerRepository, LedgerSum, RoundRepository, StorageError, TaskRecord, TaskRepository,
};

use super::{
    budget::{population, terms, unreadable},
    inherited,
};
use crate::coordinator::Coordinator;

/// Says whether one more version of a task would spend more than it may. `pending` versions are as good as released.
///
/// # Errors
/// If the storage fails, or the ledger cannot be read.
pub async fn is_spent(
    coordinator: &Coordinator,
    task: &TaskRecord,
    pending: u64,
) -> Result<bool, StorageError> {
    let population = population(coordinator, task.organisation_id, &task.description.population).await?;
    // First what is open, then what is released: a round that commits in between counts twice rather than not at all.
    let under_way = match population.budget {
        Some(_) => under_way(coordinator, task).await?,
        None => Vec::new(),
    };
    let ground = Ground::within(coordinator, task, population).await?;
    Ok(!ground.allows(task, pending, &under_way)?)
}

/// What a population's releases rest on: what is set for it, and what was released.
pub struct Ground {
    /// What is set.
    pub population: PopulationPrivacy,
    /// What was released.
    sum: LedgerSum,
    /// What was spent on the versions from which the task descends.
    inherited: Totals,
}

impl Ground {
    /// Looks at the population of a task.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn of(coordinator: &Coordinator, task: &TaskRecord) -> Result<Self, StorageError> {
        let population = population(coordinator, task.organisation_id, &task.description.population).await?;
        Self::within(coordinator, task, population).await
    }

    /// Looks at what was released, by what is set.
    async fn within(
        coordinator: &Coordinator,
        task: &TaskRecord,
        population: PopulationPrivacy,
    ) -> Result<Self, StorageError> {
        // Without a promise and without a budget nothing is added up.
        let sum = match task.description.privacy.is_none() {
            true => LedgerSum::default(),
            false => {
                let name = &task.description.population;
                coordinator.storage.ledger_sum(task.organisation_id, name).await?
            }
        };
        let inherited = match task.description.privacy.is_none() {
            true => Totals::default(),
            false => {
                let first = coordinator.catalog.version(&coordinator.storage, task.id, 0).await?;
                inherited(&first.making.ancestors, &task.description.population)
            }
        };
        Ok(Self { population, sum, inherited })
    }

    /// Returns how many entries the population's ledger has, if the task promises anything.
    pub fn entries(&self) -> u64 {
        self.sum.entries
    }

    /// Says whether a task was charged whose clients add the noise.
    pub fn has_begun(&self, task: TaskId) -> bool {
        self.sum.totals.has_begun(task)
    }

    /// Says whether a task may release one more version after `pending` others of its own and those `under_way` elsewhere.
    ///
    /// # Errors
    /// If the ledger cannot be accounted.
    pub fn allows(
        &self,
        task: &TaskRecord,
        pending: u64,
        under_way: &[(TaskId, Charge)],
    ) -> Result<bool, StorageError> {
        let (Some(limits), Some(terms)) = (task.description.privacy.limits(), terms(task)) else {
            // What is released without noise costs more than any budget has.
            return Ok(self.population.budget.is_none());
        };
        let is_sampled = matches!(terms.charge.participation, Participation::Poisson { .. });
        if self.population.unit == Unit::User && is_sampled {
            // Devices are sampled, and a user may have many: nothing bounds what a version spends. Such a task is refused,
            // but it may be older than the population's unit.
            return Ok(false);
        }
        let mut all = self.sum.totals.clone();
        all.add(task.id, terms.charge, pending);
        // A description that was accepted has a budget that is one.
        if let (Ok(epsilon), Ok(delta)) = (Epsilon::new(limits.epsilon), Delta::new(limits.delta)) {
            let relation = terms.charge.noise_multiplier.relation();
            let mut own = all.of_task(task.id);
            own.extend(&self.inherited);
            let is_within = own.allows(task.id, terms.charge, relation, (epsilon, delta));
            if !is_within.map_err(|error| unreadable(&error))? {
                return Ok(false);
            }
        }
        let Some(PopulationBudget { epsilon, delta }) = self.population.budget else { return Ok(true) };
        under_way.iter().for_each(|(task_id, charge)| all.add(*task_id, *charge, 1));
        let is_within = all.allows(task.id, terms.charge, Relation::ZeroOut, (epsilon, delta));
        is_within.map_err(|error| unreadable(&error))
    }
}

/// Lists what the other tasks of the population will release with the rounds that they have open.
async fn under_way(
    coordinator: &Coordinator,
    task: &TaskRecord,
) -> Result<Vec<(TaskId, Charge)>, StorageError> {
    let mut under_way = Vec::new();
    for id in coordinator.storage.tasks_to_drive().await?.into_iter().filter(|id| *id != task.id) {
        let other = coordinator.catalog.task(&coordinator.storage, id).await;
        let other = match other {
            Ok(other) => other,
            Err(StorageError::NotFound(_)) => continue,
            Err(error) => return Err(error),
        };
        let is_of_population = other.organisation_id == task.organisation_id
            && other.description.population == task.description.population;
        let Some(terms) = terms(&other).filter(|_| is_of_population) else { continue };
        if coordinator.storage.unfinished_round(id).await?.is_some() {
            under_way.push((id, terms.charge));
        }
    }
    Ok(under_way)
}
