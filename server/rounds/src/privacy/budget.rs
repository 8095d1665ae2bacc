use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy, Terms},
    task::TaskDescription,
};
use folkmoot_privacy::{
    Delta, Epsilon, Relation,
    ledger::{Charge, Head, RelationError, Spent, Totals},
};
use folkmoot_protocol::{LocalNoise, OrganisationId, PopulationName, TaskId, saturating::to_whole};
use folkmoot_storage::{
    Ancestor, LedgerRepository, LedgerSum, ModelVersionRecord, PopulationRepository, StorageError, TaskRecord,
};

use super::inherited;
use crate::coordinator::Coordinator;

/// The privacy budget of a task, and the amount that is already spent.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The maximum epsilon that this task may spend for each client.
    pub epsilon: Epsilon,
    /// The delta at which the task's epsilons are stated.
    pub delta: Delta,
    /// The privacy cost of this task so far.
    pub by_task: Spent,
    /// The privacy cost of all tasks of the population together. It is always accounted under zero-out, so that it
    /// never decreases.
    pub by_population: Spent,
    /// The population's settings: the unit of privacy, and the budget of all tasks together.
    pub population: PopulationPrivacy,
    /// The privacy cost of all tasks at the delta of the population's budget; `None` without such a budget.
    pub of_population_budget: Option<Spent>,
    /// The privacy cost of this task and of those ancestors that clients of the same population trained.
    pub by_lineage: Spent,
    /// The versions that the task descends from, nearest first.
    pub ancestors: Vec<Ancestor>,
    /// The last entry of the population's ledger.
    pub head: Option<Head>,
    /// The number of versions that this task has released.
    pub releases: u64,
    /// The charges of all releases of the population.
    totals: Totals,
}

/// Returns the privacy terms of a task, or `None` for a task without privacy.
pub fn terms(task: &TaskRecord) -> Option<Terms> {
    Terms::of(&task.description).ok().flatten()
}

/// Returns the noise that a task's clients add; `None` unless the task's privacy is local.
pub fn local_noise(description: &TaskDescription) -> Option<LocalNoise> {
    let local = description.privacy.local()?;
    let terms = Terms::of(description).ok().flatten()?;
    let clipping_norm = description.grid.norm_steps(local.clipping_norm).max(1);
    let scale = to_whole((terms.update_multiplier * clipping_norm as f64).ceil());
    Some(LocalNoise { clipping_norm, scale })
}

/// Returns the clipping norm for updates that start from a version, in steps of the grid; `None` unless the coordinator
/// adds noise. The coordinator refuses updates with a larger L2 norm.
pub fn clipping_steps(task: &TaskRecord, version: &ModelVersionRecord) -> Option<u64> {
    clipping_norm(task, version).map(|norm| task.description.grid.norm_steps(norm))
}

/// Returns the clipping norm that was published with the version; `None` unless the coordinator adds noise.
pub fn clipping_norm(task: &TaskRecord, version: &ModelVersionRecord) -> Option<f64> {
    let central = task.description.privacy.central()?;
    Some(version.making.clipping_norm.unwrap_or_else(|| central.clipping.first_norm()))
}

impl Budget {
    /// Computes the budget from the ledger. Returns `None` for a task without privacy.
    ///
    /// # Errors
    /// Fails if the storage fails.
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

    /// Adds the cost of the versions that the task descends from.
    ///
    /// # Errors
    /// [`RelationError`] if a release cannot be accounted.
    pub fn descending(self, task: &TaskRecord, ancestors: Vec<Ancestor>) -> Result<Self, RelationError> {
        let mut lineage = self.totals.of_task(task.id);
        lineage.extend(&inherited(&ancestors, &task.description.population));
        Ok(Self { by_lineage: lineage.spent(self.delta)?, ancestors, ..self })
    }

    /// Computes the budget from all releases of the task's population. Returns `None` for a task without privacy.
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

    /// Returns whether all releases of the task have the same charge.
    pub fn is_all_of(&self, task_id: TaskId, charge: Charge) -> bool {
        let mut alike = Totals::default();
        alike.add(task_id, charge, self.releases);
        self.releases == 0 || self.totals.of_task(task_id) == alike
    }
}

/// Returns a population's privacy settings; the defaults if the population does not exist yet.
///
/// # Errors
/// Fails if the storage fails.
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
