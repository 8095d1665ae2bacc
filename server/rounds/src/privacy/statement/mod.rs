//! The privacy statement of a task, in numbers and in words, derived from its description and the ledger alone.

mod disclosure;
mod protection;
mod sentences;
#[cfg(test)]
mod tests;

use folkmoot_api::statement::Statement;
use folkmoot_coordinator::privacy::{PrivacyChoice, StreamShape, Terms};
use folkmoot_privacy::{
    Unit,
    claim::{ACCOUNTANT_VERSION, epsilon_by_loss_distribution},
    ledger::{Charge, Participation, Spent, Totals},
};
use folkmoot_storage::TaskRecord;

use super::Budget;

/// The task, privacy terms and spent budget from which a statement is built.
struct Promise<'a> {
    task: &'a TaskRecord,
    terms: Terms,
    budget: &'a Budget,
    /// The cost of the same releases without the claim of amplification.
    unamplified: Option<Spent>,
    /// The number of enrolled clients.
    clients: u64,
}

/// Creates the statement of a task from its description and the ledger. `clients` is the number of clients enrolled
/// in its population.
pub fn statement(task: &TaskRecord, budget: Option<&Budget>, clients: u64) -> Statement {
    let mut statement = nothing(task, clients);
    let (Some(terms), Some(budget)) = (super::terms(task), budget) else {
        sentences::say_nothing_is_promised(&mut statement);
        return statement;
    };
    let unamplified = without_amplification(task, &terms, budget);
    let promise = Promise { task, terms, budget, unamplified, clients };
    count(&mut statement, &promise);
    sentences::say_all(&mut statement, &promise);
    statement
}

/// The statement of a task without privacy.
fn nothing(task: &TaskRecord, clients: u64) -> Statement {
    Statement {
        task_id: task.id,
        name: task.description.name.clone(),
        population: task.description.population.clone(),
        clients,
        is_private: false,
        unit: None,
        relation: None,
        epsilon_budget: None,
        epsilon_spent: None,
        epsilon_of_lineage: None,
        epsilon_by_loss_distribution: None,
        delta: None,
        rho_spent: None,
        epsilon_without_amplification: None,
        rho_without_amplification: None,
        epsilon_of_population: None,
        epsilon_budget_of_population: None,
        delta_of_population: None,
        releases: 0,
        releases_max: task.description.stop.rounds,
        noise_multiplier: None,
        participations_max: None,
        sampling_rate: None,
        separation: None,
        mechanism: None,
        report_goal: None,
        accountant: None,
        ledger_head: None,
        is_seeded: crate::noise::IS_SEEDED,
        sentences: Vec::new(),
    }
}

impl Promise<'_> {
    /// Returns the unit of privacy.
    fn unit(&self) -> Unit {
        self.budget.population.unit
    }

    /// Returns whether clients add the noise.
    fn is_added_by_clients(&self) -> bool {
        self.task.description.privacy.is_added_by_clients()
    }

    /// Returns the maximum number of participations per client, if the task sets one.
    fn participations_max(&self) -> Option<u64> {
        self.task.description.privacy.limits().and_then(|limits| limits.participations_max)
    }
}

/// Sets the numeric fields of the statement.
fn count(statement: &mut Statement, promise: &Promise<'_>) {
    let Promise { task, terms, budget, unamplified, .. } = promise;
    let (participations_max, sampling_rate) = match (terms.charge.participation, terms.stream) {
        (_, Some(stream)) => (Some(stream.pattern.participations_within(stream.releases_max)), None),
        (Participation::AtMost { count } | Participation::Whole { count }, _) => (Some(count), None),
        (Participation::Poisson { rate }, _) => (promise.participations_max(), Some(rate.get())),
    };
    statement.is_private = !statement.is_seeded;
    statement.unit = Some(budget.population.unit);
    statement.relation = Some(terms.charge.noise_multiplier.relation());
    statement.epsilon_budget = Some(budget.epsilon.get());
    statement.epsilon_spent = Some(budget.by_task.epsilon.get());
    statement.epsilon_of_lineage = Some(budget.by_lineage.epsilon.get());
    statement.ledger_head = budget.head.as_ref().map(|head| format!("{}:{}", head.entries, head.digest));
    statement.epsilon_by_loss_distribution = by_loss_distribution(task, &terms.charge, budget);
    statement.delta = Some(budget.delta.get());
    statement.rho_spent = budget.by_task.rho.map(f64::from);
    statement.epsilon_without_amplification = unamplified.map(|spent| spent.epsilon.get());
    statement.rho_without_amplification = unamplified.and_then(|spent| spent.rho).map(f64::from);
    statement.epsilon_of_population = Some(budget.by_population.epsilon.get());
    statement.epsilon_budget_of_population = budget.population.budget.map(|one| one.epsilon.get());
    statement.delta_of_population = budget.population.budget.map(|one| one.delta.get());
    statement.releases = budget.releases;
    statement.noise_multiplier = Some(terms.charge.noise_multiplier.get());
    statement.participations_max = participations_max;
    statement.sampling_rate = sampling_rate;
    statement.separation = terms.stream.map(|stream| stream.pattern.separation());
    statement.mechanism = Some(mechanism(task, terms).to_owned());
    statement.report_goal = task.description.privacy.central().map(|_| terms.report_goal);
    statement.accountant =
        Some(format!("{}, folkmoot-privacy {ACCOUNTANT_VERSION}", budget.by_task.accountant));
}

/// Returns the name of the mechanism.
fn mechanism(task: &TaskRecord, terms: &Terms) -> &'static str {
    match terms.stream.map(|stream| stream.shape) {
        Some(StreamShape::Tree) => "tree",
        Some(StreamShape::Blt) => "blt",
        None => match task.description.privacy {
            PrivacyChoice::Local(_) => "local",
            PrivacyChoice::Distributed(_) => "distributed",
            _ => "independent",
        },
    }
}

/// Computes the cost of the same releases without the claim of amplification. The limit on participations still
/// applies, because selection enforces it in any case.
fn without_amplification(task: &TaskRecord, terms: &Terms, budget: &Budget) -> Option<Spent> {
    let Participation::Poisson { .. } = terms.charge.participation else { return Some(budget.by_task) };
    let most = task.description.privacy.limits().and_then(|limits| limits.participations_max);
    let participation = Participation::AtMost { count: most.unwrap_or(u64::MAX) };
    let mut totals = Totals::default();
    totals.add(task.id, Charge { participation, ..terms.charge }, budget.releases);
    totals.spent(budget.delta).ok()
}

/// Returns the epsilon of all releases, computed from the privacy loss distribution. `None` without Poisson sampling,
/// or if the releases have different charges.
fn by_loss_distribution(task: &TaskRecord, charge: &Charge, budget: &Budget) -> Option<f64> {
    let Participation::Poisson { rate } = charge.participation else { return None };
    if !budget.is_all_of(task.id, *charge) {
        return None;
    }
    let epsilon = epsilon_by_loss_distribution(rate, charge.noise_multiplier, budget.releases, budget.delta)?;
    Some(epsilon.get())
}

/// Returns the text with its first letter in upper case.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
