use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy, Terms},
    task::TaskDescription,
};
use folkmoot_privacy::{
    Delta, Epsilon, Relation,
    ledger::{Charge, Head, RelationError, Spent, Totals},
};
use folkmoot_protocol::{LocalNoise, OrganisationId, PopulationName, TaskId};
use folkmoot_storage::{
    Ancestor, LedgerRepository, LedgerSum, ModelVersionRecord, PopulationRepository, StorageError, TaskRecord,
};
use folkmoot_update::norm_steps;

use super::inherited;
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
    /// What it has spent together with the versions from which it descends, of the same clients.
    pub by_lineage: Spent,
    /// The versions from which it descends, the nearest first.
    pub ancestors: Vec<Ancestor>,
    /// The last entry of the population's ledger.
    pub head: Option<Head>,
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
        let (storage, organisation_id) = (&coordinator.storage, task.organisation_id);
        let LedgerSum { entries, totals } = storage.ledger_sum(organisation_id, name).await?;
        let population = population(coordinator, organisation_id, name).await?;
        let budget = Self::from_totals(task, totals, population).map_err(|error| unreadable(&error))?;
        let Some(budget) = budget else { return Ok(None) };
        let last = storage.ledger_entries(organisation_id, name, entries.saturating_sub(1), 1).await?;
        let head = last.first().map(|last| Head { entries: last.sequence, digest: last.digest });
        let first = coordinator.catalog.version(storage, task.id, 0).await?;
        let budget = budget.descending(task, first.making.ancestors.clone());
        Ok(Some(Self { head, ..budget.map_err(|error| unreadable(&error))? }))
    }

    /// Counts what was spent on the versions from which the task descends.
    ///
    /// # Errors
    /// [`RelationError`] if a release cannot be accounted.
    pub fn descending(self, task: &TaskRecord, ancestors: Vec<Ancestor>) -> Result<Self, RelationError> {
        let mut lineage = self.totals.of_task(task.id);
        lineage.extend(&inherited(&ancestors, &task.description.population));
        Ok(Self { by_lineage: lineage.spent(self.delta)?, ancestors, ..self })
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
            by_lineage: own.spent(delta)?,
            ancestors: Vec::new(),
            head: None,
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

pub(super) fn unreadable(error: &RelationError) -> StorageError {
    StorageError::Corrupt { what: "privacy ledger", detail: error.to_string() }
}
