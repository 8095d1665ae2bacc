use folkmoot_coordinator::{privacy::Terms, task::TaskDescription};
use folkmoot_privacy::{
    Delta, Epsilon, Relation,
    ledger::{Charge, RelationError, Spent, Totals},
};
use folkmoot_protocol::{LocalNoise, TaskId};
use folkmoot_storage::{
    LedgerRepository, ModelVersionRecord, RoundRepository, StorageError, TaskRecord, TaskRepository,
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
        let population = &task.description.population;
        let totals = coordinator.storage.ledger_totals(task.organisation_id, population).await?;
        Self::from_totals(task, totals).map_err(|error| unreadable(&error))
    }

    /// Adds up what was spent by all releases of the task's population. None for a task that promises nothing.
    ///
    /// # Errors
    /// [`RelationError`] if a release cannot be accounted.
    pub fn from_totals(task: &TaskRecord, totals: Totals) -> Result<Option<Self>, RelationError> {
        let Some(limits) = task.description.privacy.limits() else { return Ok(None) };
        let (Ok(epsilon), Ok(delta)) = (Epsilon::new(limits.epsilon), Delta::new(limits.delta)) else {
            return Ok(None);
        };
        let own = totals.of_task(task.id);
        Ok(Some(Self {
            epsilon,
            delta,
            by_task: own.spent(delta)?,
            by_population: totals.spent_under(Relation::ZeroOut, delta)?,
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
    let (Some(limits), Some(terms)) = (task.description.privacy.limits(), terms(task)) else {
        return Ok(false);
    };
    let population = &task.description.population;
    let mut all = coordinator.storage.ledger_totals(task.organisation_id, population).await?;
    all.add(task.id, terms.charge, pending);
    let own = (all.of_task(task.id), terms.charge.noise_multiplier.relation());
    if limits.population_epsilon.is_some() {
        add_under_way(coordinator, task, &mut all).await?;
    }
    let budgets = [(Some(limits.epsilon), own), (limits.population_epsilon, (all, Relation::ZeroOut))];
    for (epsilon, (totals, relation)) in budgets {
        // A description that was accepted has budgets that are some.
        let Some(epsilon) = epsilon.and_then(|epsilon| Epsilon::new(epsilon).ok()) else { continue };
        let Ok(delta) = Delta::new(limits.delta) else { continue };
        let is_within = totals.allows(task.id, terms.charge, relation, (epsilon, delta));
        if !is_within.map_err(|error| unreadable(&error))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds what the other tasks of the population will release with the rounds that they have open.
async fn add_under_way(
    coordinator: &Coordinator,
    task: &TaskRecord,
    all: &mut Totals,
) -> Result<(), StorageError> {
    for id in coordinator.storage.tasks_to_drive().await?.into_iter().filter(|id| *id != task.id) {
        let other = coordinator.catalog.task(&coordinator.storage, id).await;
        let Ok(other) = other else { continue };
        let is_of_population = other.organisation_id == task.organisation_id
            && other.description.population == task.description.population;
        let Some(terms) = terms(&other).filter(|_| is_of_population) else { continue };
        if coordinator.storage.unfinished_round(id).await?.is_some() {
            all.add(id, terms.charge, 1);
        }
    }
    Ok(())
}

fn unreadable(error: &RelationError) -> StorageError {
    StorageError::Corrupt { what: "privacy ledger", detail: error.to_string() }
}
