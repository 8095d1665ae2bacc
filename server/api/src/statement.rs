//! What a task promises its clients.

mod html;

use folkmoot_privacy::{Relation, Unit};
use folkmoot_protocol::{PopulationName, TaskId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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

impl Statement {
    /// Adds a sentence.
    pub fn say(&mut self, about: &str, text: impl Into<String>) {
        self.sentences.push(Sentence { about: about.into(), text: text.into() });
    }
}
