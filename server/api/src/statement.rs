//! The privacy statement of a task.

mod html;

use folkmoot_privacy::{Relation, Unit};
use folkmoot_protocol::{PopulationName, TaskId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The privacy guarantee that a task gives its clients, as numbers and as sentences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Statement {
    /// The task's id.
    #[schema(value_type = String)]
    pub task_id: TaskId,
    /// The task's display name.
    pub name: String,
    /// The population whose clients train the task.
    #[schema(value_type = String)]
    pub population: PopulationName,
    /// The number of clients that are enrolled in the population, without revoked ones.
    pub clients: u64,
    /// True if the released versions are differentially private. If false, there is no guarantee: the other numbers
    /// are null or, in a build with seeded noise, meaningless.
    pub is_private: bool,
    /// The unit of privacy: `client`, or `user` with all their devices.
    #[schema(value_type = Option<String>)]
    pub unit: Option<Unit>,
    /// The adjacency relation of the guarantee: `zero_out`.
    #[schema(value_type = Option<String>)]
    pub relation: Option<Relation>,
    /// The epsilon that the task may spend for every client.
    pub epsilon_budget: Option<f64>,
    /// The epsilon spent so far, computed by the accountant that enforces the budget.
    pub epsilon_spent: Option<f64>,
    /// The epsilon spent so far, including the versions of other tasks that version 0 descends from.
    pub epsilon_of_lineage: Option<f64>,
    /// A tighter bound on the epsilon spent so far, computed from the privacy loss distribution. It is set if the task
    /// claims Poisson sampling and all releases cost the same. It is informative only: the budget does not use it.
    pub epsilon_by_loss_distribution: Option<f64>,
    /// The delta at which all epsilons of the task are stated.
    pub delta: Option<f64>,
    /// The rho spent so far under zero-concentrated differential privacy. Null if the task claims amplification by
    /// sampling.
    pub rho_spent: Option<f64>,
    /// The epsilon spent so far, computed as if there were no amplification by sampling.
    pub epsilon_without_amplification: Option<f64>,
    /// The rho spent so far, computed as if there were no amplification by sampling.
    pub rho_without_amplification: Option<f64>,
    /// The epsilon that all private tasks of the population have spent for a client that took part in all of them.
    pub epsilon_of_population: Option<f64>,
    /// The total epsilon that all tasks of the population may spend.
    pub epsilon_budget_of_population: Option<f64>,
    /// The delta for the population's budget.
    pub delta_of_population: Option<f64>,
    /// The number of versions that were released with noise.
    pub releases: u64,
    /// The number of versions after which the task ends, if it has such a limit.
    pub releases_max: Option<u64>,
    /// The noise multiplier: the standard deviation of the noise divided by the clipping norm. With adaptive clipping,
    /// it includes the cost of the noised count of updates below the norm.
    pub noise_multiplier: Option<f64>,
    /// The maximum number of versions that may contain one client's updates. Selection enforces this maximum.
    pub participations_max: Option<u64>,
    /// The probability with which each client is selected, if the task claims Poisson sampling.
    pub sampling_rate: Option<f64>,
    /// The minimum distance, in versions, between two contributions of one client, if the task claims such a distance.
    pub separation: Option<u64>,
    /// The noise mechanism: `independent`, `tree` or `blt` for noise of the coordinator, or `local` for noise of the
    /// clients.
    pub mechanism: Option<String>,
    /// The report goal. The mean is the sum of the updates divided by this fixed number.
    pub report_goal: Option<u64>,
    /// The name and version of the accountant.
    pub accountant: Option<String>,
    /// The head of the population's ledger: the number of entries and the last digest, as ENTRIES:DIGEST. Keep it to
    /// prove later that no earlier entry was changed.
    pub ledger_head: Option<String>,
    /// True if the noise comes from a known seed, as in simulations. Then the noise protects nothing.
    pub is_seeded: bool,
    /// The statement as sentences.
    pub sentences: Vec<Sentence>,
}

/// One sentence of the statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sentence {
    /// The topic.
    pub about: String,
    /// The text.
    pub text: String,
}

impl Statement {
    /// Appends a sentence about a topic.
    pub fn say(&mut self, about: &str, text: impl Into<String>) {
        self.sentences.push(Sentence { about: about.into(), text: text.into() });
    }
}
