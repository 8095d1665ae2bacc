use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy, Terms},
    task::TaskDescription,
};
use folkmoot_privacy::{
    Delta, Epsilon, Relation, Unit,
    ledger::{Charge, Participation, RelationError, Spent, Totals},
};
use folkmoot_protocol::{LocalNoise, OrganisationId, PopulationName, TaskId};
use folkmoot_storage::{
    LedgerRepository, ModelVersionRecord, PopulationRepository, RoundRepository, StorageError, TaskRecord,
    TaskRepository,
};
use folkmoot_update::norm_steps;

use crate::coordinator::Coordinator;

/// What a task may spend, and what was spent.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Of every client, at most, by this task.
    pub epsilon: Epsilon,
    /// The delta of every epsilon.
    pub delta: Delta,
    /// What this task has spent.
    pub by_task: Spent,
    /// What all tasks of the population have spent together, under zero-out whatever they are: so it never falls.
    pub by_population: Spent,
    /// Whom the promises in the population protect, and what all tasks together may spend.
    pub population: PopulationPrivacy,
    /// What they have spent at the delta of that.
    pub of_population_budget: Option<Spent>,
    /// The versions that this task has released.
    pub releases: u64,
    /// All of the population's releases.
    totals: Totals,
}

/// Returns the terms of a task, if it promises privacy. A description that was accepted has them.
pub fn terms(task: &TaskRecord) -> Option<Terms> {
    Terms::of(&task.description).ok().flatten()
}

/// Returns the noise that the clients of a task add themselves.
pub fn local_noise(description: &TaskDescription) -> Option<LocalNoise> {
    let local = description.privacy.local()?;
    let terms = Terms::of(description).ok().flatten()?;
    let clipping_norm = norm_steps(local.clipping_norm, &description.grid).max(1);
    let scale = (terms.update_multiplier * clipping_norm as f64).ceil() as u64;
    Some(LocalNoise { clipping_norm, scale })
}

/// Returns the L2 norm, in steps of the grid, to which updates are clipped that start from a version of a task, and above
/// which the coordinator refuses them.
pub fn clipping_steps(task: &TaskRecord, version: &ModelVersionRecord) -> Option<u64> {
    clipping_norm(task, version).map(|norm| norm_steps(norm, &task.description.grid))
}

/// Returns the same as it was published with the version.
pub fn clipping_norm(task: &TaskRecord, version: &ModelVersionRecord) -> Option<f64> {
    let central = task.description.privacy.central()?;
    Some(version.making.clipping_norm.unwrap_or_else(|| central.clipping.first_norm()))
}

impl Budget {
    /// Adds up what was spent.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn of(coordinator: &Coordinator, task: &TaskRecord) -> Result<Option<Self>, StorageError> {
        if task.description.privacy.is_none() {
            return Ok(None);
        }
        let name = &task.description.population;
        let totals = coordinator.storage.ledger_totals(task.organisation_id, name).await?;
        let population = population(coordinator, task.organisation_id, name).await?;
        Self::from_totals(task, totals, population).map_err(|error| unreadable(&error))
    }

    /// Adds up what was spent by all releases of the task's population. None for a task that promises nothing.
    ///
    /// # Errors
    /// [`RelationError`] if a release cannot be accounted.
    pub fn from_totals(
        task: &TaskRecord,
        totals: Totals,
        population: PopulationPrivacy,
    ) -> Result<Option<Self>, RelationError> {
        let Some(limits) = task.description.privacy.limits() else { return Ok(None) };
        let (Ok(epsilon), Ok(delta)) = (Epsilon::new(limits.epsilon), Delta::new(limits.delta)) else {
            return Ok(None);
        };
        let own = totals.of_task(task.id);
        let of_budget = |budget: PopulationBudget| totals.spent_under(Relation::ZeroOut, budget.delta);
        Ok(Some(Self {
            epsilon,
            delta,
            by_task: own.spent(delta)?,
            by_population: totals.spent_under(Relation::ZeroOut, delta)?,
            of_population_budget: population.budget.map(of_budget).transpose()?,
            population,
            releases: own.releases(),
            totals,
        }))
    }

    /// Says whether all releases of the task cost the same.
    pub fn is_all_of(&self, task_id: TaskId, charge: Charge) -> bool {
        let mut alike = Totals::default();
        alike.add(task_id, charge, self.releases);
        self.releases == 0 || self.totals.of_task(task_id) == alike
    }
}

/// Says whether one more version of a task would spend more than it may. `pending` versions are as good as released.
///
/// # Errors
/// If the storage fails, or the ledger cannot be read.
pub async fn is_spent(
    coordinator: &Coordinator,
    task: &TaskRecord,
    pending: u64,
) -> Result<bool, StorageError> {
    let name = &task.description.population;
    let population = population(coordinator, task.organisation_id, name).await?;
    let (Some(limits), Some(terms)) = (task.description.privacy.limits(), terms(task)) else {
        // What is released without noise costs more than any budget has.
        return Ok(population.budget.is_some());
    };
    let is_sampled = matches!(terms.charge.participation, Participation::Poisson { .. });
    if population.unit == Unit::User && is_sampled {
        // Devices are sampled, and a user may have many: nothing bounds what a version spends. Such a task is refused, but
        // it may be older than the population's unit.
        return Ok(true);
    }
    // First what is open, then what is released: a round that commits in between counts twice rather than not at all.
    let under_way = match population.budget {
        Some(_) => under_way(coordinator, task).await?,
        None => Vec::new(),
    };
    let mut all = coordinator.storage.ledger_totals(task.organisation_id, name).await?;
    all.add(task.id, terms.charge, pending);
    // A description that was accepted has a budget that is one.
    if let (Ok(epsilon), Ok(delta)) = (Epsilon::new(limits.epsilon), Delta::new(limits.delta)) {
        let relation = terms.charge.noise_multiplier.relation();
        let own = all.of_task(task.id).allows(task.id, terms.charge, relation, (epsilon, delta));
        if !own.map_err(|error| unreadable(&error))? {
            return Ok(true);
        }
    }
    let Some(PopulationBudget { epsilon, delta }) = population.budget else { return Ok(false) };
    under_way.into_iter().for_each(|(task_id, charge)| all.add(task_id, charge, 1));
    let is_within = all.allows(task.id, terms.charge, Relation::ZeroOut, (epsilon, delta));
    is_within.map(|is_within| !is_within).map_err(|error| unreadable(&error))
}

/// Returns what holds for everybody in a population; what does not exist yet has the defaults.
///
/// # Errors
/// If the storage fails.
pub async fn population(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    name: &PopulationName,
) -> Result<PopulationPrivacy, StorageError> {
    let record = coordinator.storage.population(organisation_id, name).await?;
    Ok(record.map(|record| record.privacy).unwrap_or_default())
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

fn unreadable(error: &RelationError) -> StorageError {
    StorageError::Corrupt { what: "privacy ledger", detail: error.to_string() }
}
