use folkmoot_privacy::{Delta, Epsilon, Unit};
use serde::{Deserialize, Serialize};

/// What holds for everybody in a population, whichever task they take part in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PopulationPrivacy {
    /// Whom the promises of its tasks protect. With [`Unit::User`] every enrolment names its user.
    pub unit: Unit,
    /// What all tasks together may spend. Without it only the tasks' own budgets end them.
    pub budget: Option<PopulationBudget>,
}

/// What all tasks of a population together may spend of a client, or of a user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PopulationBudget {
    /// At most.
    pub epsilon: Epsilon,
    /// At this delta.
    pub delta: Delta,
}
