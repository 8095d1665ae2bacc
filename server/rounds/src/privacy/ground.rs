//! Checks whether a task may release one more version.

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

/// Returns whether one more version of a task would exceed a budget, after `pending` versions that are not stored yet.
///
/// # Errors
/// Fails if the storage fails, or the ledger cannot be read.
pub async fn is_spent(
    coordinator: &Coordinator,
    task: &TaskRecord,
    pending: u64,
) -> Result<bool, StorageError> {
    let population = population(coordinator, task.organisation_id, &task.description.population).await?;
    // Read the open rounds before the ledger: a round that commits between the two reads is then counted twice instead
    // of not at all.
    let under_way = match population.budget {
        Some(_) => under_way(coordinator, task).await?,
        None => Vec::new(),
    };
    let ground = Ground::within(coordinator, task, population).await?;
    Ok(!ground.allows(task, pending, &under_way)?)
}

/// The facts that decide whether a version may be released: the population's settings, and its ledger.
pub struct Ground {
    /// The population's privacy settings.
    pub population: PopulationPrivacy,
    /// The sum of the population's ledger.
    sum: LedgerSum,
    /// The charges of the versions that the task descends from.
    inherited: Totals,
}

impl Ground {
    /// Reads the facts for a task's population.
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn of(coordinator: &Coordinator, task: &TaskRecord) -> Result<Self, StorageError> {
        let population = population(coordinator, task.organisation_id, &task.description.population).await?;
        Self::within(coordinator, task, population).await
    }

    /// Creates the facts from settings and sums that were already read.
    pub(super) fn seen(population: PopulationPrivacy, sum: LedgerSum, inherited: Totals) -> Self {
        Self { population, sum, inherited }
    }

    /// Reads the ledger for a population with known settings.
    async fn within(
        coordinator: &Coordinator,
        task: &TaskRecord,
        population: PopulationPrivacy,
    ) -> Result<Self, StorageError> {
        // The ledger is read only for a task with privacy.
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

    /// Returns the number of entries in the population's ledger; 0 for a task without privacy.
    pub fn entries(&self) -> u64 {
        self.sum.entries
    }

    /// Returns whether a task with local noise was already charged.
    pub fn has_begun(&self, task: TaskId) -> bool {
        self.sum.totals.has_begun(task)
    }

    /// Returns whether a task may release one more version. `pending` versions of this task and the versions
    /// `under_way` in other tasks are counted as released.
    ///
    /// # Errors
    /// Fails if the ledger cannot be accounted.
    pub fn allows(
        &self,
        task: &TaskRecord,
        pending: u64,
        under_way: &[(TaskId, Charge)],
    ) -> Result<bool, StorageError> {
        Ok(self.passed(task.id, &task.description, pending, under_way)?.is_none())
    }

    /// Returns the budget that one more version would exceed, if any.
    ///
    /// # Errors
    /// Fails if the ledger cannot be accounted.
    pub fn passed(
        &self,
        id: TaskId,
        description: &TaskDescription,
        pending: u64,
        under_way: &[(TaskId, Charge)],
    ) -> Result<Option<Passed>, StorageError> {
        let terms = Terms::of(description).ok().flatten();
        let (Some(limits), Some(terms)) = (description.privacy.limits(), terms) else {
            // The cost of a version without noise exceeds every budget.
            return Ok(self.population.budget.map(|_| Passed::Unbounded));
        };
        let is_sampled = matches!(terms.charge.participation, Participation::Poisson { .. });
        if self.population.unit == Unit::User && is_sampled {
            // Sampling draws devices, but one user may have many, so the cost of a version has no bound. New tasks of
            // this kind are refused, but this task may have been created before the population's unit became the user.
            return Ok(Some(Passed::Unbounded));
        }
        let mut all = self.sum.totals.clone();
        all.add(id, terms.charge, pending);
        // An accepted description always has a valid epsilon and delta.
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

/// A budget that one more version would exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Passed {
    /// The task's own budget, which also covers the versions that it descends from.
    Task {
        /// The epsilon spent so far.
        spent: Epsilon,
        /// The epsilon of the budget.
        epsilon: Epsilon,
        /// The delta at which `spent` and `epsilon` are stated.
        delta: Delta,
    },
    /// The budget of all tasks of the population.
    Population {
        /// The epsilon spent so far.
        spent: Epsilon,
        /// The epsilon of the budget.
        epsilon: Epsilon,
        /// The delta at which `spent` and `epsilon` are stated.
        delta: Delta,
    },
    /// Any budget, because the cost of a version of this task has no bound.
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
                return f.write_str(
                    "the population has a privacy budget, and nothing limits what this task would spend",
                );
            }
        };
        let (spent, epsilon, delta) = (spent.get(), epsilon.get(), delta.get());
        write!(
            f,
            "{who} spent epsilon {spent:.3} of {epsilon} at delta {delta:e}, and one more version would exceed that"
        )
    }
}

/// Returns the epsilon spent so far, if one more charge of the task would exceed the budget.
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

/// Lists the charges that the population's other tasks will make with their open rounds.
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
