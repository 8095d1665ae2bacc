//! What a task promises its clients, in numbers and in words, made from its description and the ledger alone.

mod disclosure;
mod html;
mod protection;
mod sentences;
#[cfg(test)]
mod tests;

use folkmoot_coordinator::privacy::{StreamShape, Terms};
use folkmoot_privacy::{
    Relation, Unit,
    claim::{ACCOUNTANT_VERSION, epsilon_by_loss_distribution},
    ledger::{Charge, Participation, Spent, Totals},
};
use folkmoot_protocol::{PopulationName, TaskId};
use folkmoot_storage::TaskRecord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Budget;

/// What a task promises its clients, in numbers and in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Statement {
    /// The task.
    #[schema(value_type = String)]
    pub task_id: TaskId,
    /// Its name.
    pub name: String,
    /// Whose clients train it.
    #[schema(value_type = String)]
    pub population: PopulationName,
    /// How many clients are enrolled there.
    pub clients: u64,
    /// Says that the released versions are differentially private. Otherwise nothing is promised, and the other numbers
    /// are empty or, from a seeded build, worth nothing.
    pub is_private: bool,
    /// Whom it protects: `client`, or `user` with all devices.
    #[schema(value_type = Option<String>)]
    pub unit: Option<Unit>,
    /// Which two runs look alike: `zero_out`.
    #[schema(value_type = Option<String>)]
    pub relation: Option<Relation>,
    /// What the task may spend of every client.
    pub epsilon_budget: Option<f64>,
    /// What it has spent, by the accountant that keeps the budget.
    pub epsilon_spent: Option<f64>,
    /// What it has spent of the same clients together with the versions from which version 0 descends.
    pub epsilon_of_lineage: Option<f64>,
    /// What the privacy loss distribution says of the same releases, where Poisson sampling is claimed and all cost the
    /// same: a tighter bound, by which nothing is decided.
    pub epsilon_by_loss_distribution: Option<f64>,
    /// The delta of every epsilon here.
    pub delta: Option<f64>,
    /// What it has spent as zero-concentrated differential privacy, where no sampling is claimed.
    pub rho_spent: Option<f64>,
    /// What it would have spent if nothing were claimed of sampling.
    pub epsilon_without_amplification: Option<f64>,
    /// The same as zero-concentrated differential privacy.
    pub rho_without_amplification: Option<f64>,
    /// What all tasks of the population that promise privacy have spent of a client that was in all of them.
    pub epsilon_of_population: Option<f64>,
    /// What they may spend, and at which delta.
    pub epsilon_budget_of_population: Option<f64>,
    /// The delta of that.
    pub delta_of_population: Option<f64>,
    /// The versions that were released with noise.
    pub releases: u64,
    /// After how many versions the task ends, if it is their number that ends it.
    pub releases_max: Option<u64>,
    /// The noise's standard deviation over the clipping norm, the count of short updates included.
    pub noise_multiplier: Option<f64>,
    /// In how many versions a client's updates may be, as selection keeps to it.
    pub participations_max: Option<u64>,
    /// The probability with which every client is drawn, where Poisson sampling is claimed.
    pub sampling_rate: Option<f64>,
    /// By how many versions two with a client's updates in them are apart, where that is claimed.
    pub separation: Option<u64>,
    /// What makes the versions private: `independent`, `tree` or `blt` noise of the coordinator's, or `local`, the clients'.
    pub mechanism: Option<String>,
    /// The fixed denominator of the mean.
    pub report_goal: Option<u64>,
    /// The accountant, with its version.
    pub accountant: Option<String>,
    /// The head of the population's ledger, ENTRIES:DIGEST: whoever keeps it can show later that nothing before it was changed.
    pub ledger_head: Option<String>,
    /// Says that the noise comes from a seed: then nothing is protected.
    pub is_seeded: bool,
    /// The same in words.
    pub sentences: Vec<Sentence>,
}

/// One point of the statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sentence {
    /// What it is about.
    pub about: String,
    /// What is said.
    pub text: String,
}

/// All that a promise follows from.
struct Promise<'a> {
    task: &'a TaskRecord,
    terms: Terms,
    budget: &'a Budget,
    /// The ledger of the same releases, had nothing been claimed of how clients were drawn.
    unamplified: Option<Spent>,
    /// Enrolled clients.
    clients: u64,
}

/// Makes the statement of a task from its description and the ledger. `clients` are enrolled in its population.
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

/// The statement of a task that promises nothing.
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
        is_seeded: super::IS_SEEDED,
        sentences: Vec::new(),
    }
}

impl Promise<'_> {
    /// Names whom it protects.
    fn unit(&self) -> Unit {
        self.budget.population.unit
    }

    /// Says that clients add the noise.
    fn is_local(&self) -> bool {
        self.task.description.privacy.local().is_some()
    }

    /// Returns how often a client may take part, where that was said.
    fn participations_max(&self) -> Option<u64> {
        self.task.description.privacy.limits().and_then(|limits| limits.participations_max)
    }
}

/// Writes the numbers of a promise.
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

/// Names what makes the versions private.
fn mechanism(task: &TaskRecord, terms: &Terms) -> &'static str {
    match terms.stream.map(|stream| stream.shape) {
        Some(StreamShape::Tree) => "tree",
        Some(StreamShape::Blt) => "blt",
        None if task.description.privacy.local().is_some() => "local",
        None => "independent",
    }
}

/// Adds up the same releases as if nothing were claimed of how clients were drawn. A cap on participations is kept by
/// selection, whatever is claimed.
fn without_amplification(task: &TaskRecord, terms: &Terms, budget: &Budget) -> Option<Spent> {
    let Participation::Poisson { .. } = terms.charge.participation else { return Some(budget.by_task) };
    let most = task.description.privacy.limits().and_then(|limits| limits.participations_max);
    let participation = Participation::AtMost { count: most.unwrap_or(u64::MAX) };
    let mut totals = Totals::default();
    totals.add(task.id, Charge { participation, ..terms.charge }, budget.releases);
    totals.spent(budget.delta).ok()
}

/// Asks the privacy loss distribution, which answers for releases of one kind only.
fn by_loss_distribution(task: &TaskRecord, charge: &Charge, budget: &Budget) -> Option<f64> {
    let Participation::Poisson { rate } = charge.participation else { return None };
    if !budget.is_all_of(task.id, *charge) {
        return None;
    }
    let epsilon = epsilon_by_loss_distribution(rate, charge.noise_multiplier, budget.releases, budget.delta)?;
    Some(epsilon.get())
}
