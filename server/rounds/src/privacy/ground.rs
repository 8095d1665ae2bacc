//! Whether a task may release one more version.

use std::fmt;

use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy, Terms},
    task::TaskDescription,
};
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

    /// Rests on what was seen already of a population.
    pub(super) fn seen(population: PopulationPrivacy, sum: LedgerSum, inherited: Totals) -> Self {
        Self { population, sum, inherited }
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
        Ok(self.passed(task.id, &task.description, pending, under_way)?.is_none())
    }

    /// Returns the budget that one more version would pass, if it would pass one.
    ///
    /// # Errors
    /// If the ledger cannot be accounted.
    pub fn passed(
        &self,
        id: TaskId,
        description: &TaskDescription,
        pending: u64,
        under_way: &[(TaskId, Charge)],
    ) -> Result<Option<Passed>, StorageError> {
        let terms = Terms::of(description).ok().flatten();
        let (Some(limits), Some(terms)) = (description.privacy.limits(), terms) else {
            // What is released without noise costs more than any budget has.
            return Ok(self.population.budget.map(|_| Passed::Unbounded));
        };
        let is_sampled = matches!(terms.charge.participation, Participation::Poisson { .. });
        if self.population.unit == Unit::User && is_sampled {
            // Devices are sampled, and a user may have many: nothing bounds what a version spends. Such a task is refused,
            // but it may be older than the population's unit.
            return Ok(Some(Passed::Unbounded));
        }
        let mut all = self.sum.totals.clone();
        all.add(id, terms.charge, pending);
        // A description that was accepted has a budget that is one.
        if let (Ok(epsilon), Ok(delta)) = (Epsilon::new(limits.epsilon), Delta::new(limits.delta)) {
            let relation = terms.charge.noise_multiplier.relation();
            let mut own = all.of_task(id);
            own.extend(&self.inherited);
            let spent = spent_if_passed(&own, id, terms.charge, relation, (epsilon, delta))?;
            if let Some(spent) = spent {
                return Ok(Some(Passed::Task { spent, epsilon, delta }));
            }
        }
        let Some(PopulationBudget { epsilon, delta }) = self.population.budget else { return Ok(None) };
        under_way.iter().for_each(|(task_id, charge)| all.add(*task_id, *charge, 1));
        let spent = spent_if_passed(&all, id, terms.charge, Relation::ZeroOut, (epsilon, delta))?;
        Ok(spent.map(|spent| Passed::Population { spent, epsilon, delta }))
    }
}

/// A budget that one more version would pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Passed {
    /// The task's own, to which the versions count from which it descends.
    Task {
        /// What was spent of it.
        spent: Epsilon,
        /// What may be spent.
        epsilon: Epsilon,
        /// The delta of both.
        delta: Delta,
    },
    /// The one of all tasks of the population.
    Population {
        /// What was spent of it.
        spent: Epsilon,
        /// What may be spent.
        epsilon: Epsilon,
        /// The delta of both.
        delta: Delta,
    },
    /// Any: nothing bounds what a version of the task spends.
    Unbounded,
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, (spent, epsilon, delta)) = match *self {
            Passed::Task { spent, epsilon, delta } => ("the task has", (spent, epsilon, delta)),
            Passed::Population { spent, epsilon, delta } => {
                ("all tasks of the population have", (spent, epsilon, delta))
            }
            Passed::Unbounded => {
                return f
                    .write_str("the population has a budget, and nothing bounds what the task would spend");
            }
        };
        let (spent, epsilon, delta) = (spent.get(), epsilon.get(), delta.get());
        write!(
            f,
            "{who} spent epsilon {spent:.3} of {epsilon} at delta {delta:e}, and one more version would pass that"
        )
    }
}

/// Returns what was spent, if one more charge of a task would pass a budget.
fn spent_if_passed(
    totals: &Totals,
    task: TaskId,
    charge: Charge,
    relation: Relation,
    (epsilon, delta): (Epsilon, Delta),
) -> Result<Option<Epsilon>, StorageError> {
    let is_within = totals.allows(task, charge, relation, (epsilon, delta));
    if is_within.map_err(|error| unreadable(&error))? {
        return Ok(None);
    }
    let spent = totals.spent_under(relation, delta).map_err(|error| unreadable(&error))?;
    Ok(Some(spent.epsilon))
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
