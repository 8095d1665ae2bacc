//! Populations: who is enrolled, and what privacy they were promised.

use std::collections::BTreeMap;

use folkmoot_privacy::{Delta, Epsilon, Unit};
use folkmoot_protocol::{PopulationName, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// All clients that are enrolled for one app's data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PopulationView {
    /// Its name.
    pub name: PopulationName,
    /// How many clients are enrolled; revoked ones do not count.
    pub client_count: u64,
    /// Whom the promises of its tasks protect: `client` or `user`.
    #[schema(value_type = String)]
    pub unit: Unit,
    /// What all its tasks together may spend of a client or user; none if only the tasks' own budgets end them.
    #[schema(value_type = Option<f64>)]
    pub epsilon: Option<Epsilon>,
    /// The delta of that epsilon.
    #[schema(value_type = Option<f64>)]
    pub delta: Option<Delta>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Who a population's clients are, taken together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClientsView {
    /// How many are enrolled; revoked ones do not count.
    pub enrolled: u64,
    /// How many were revoked.
    pub revoked: u64,
    /// How many wait for a round just now; hidden while the `privacy` of a task claims sampling, as is who they are.
    pub waiting: Option<u64>,
    /// How many have an assignment under way; hidden likewise.
    pub training: Option<u64>,
    /// Fewer than these are not shown by themselves but as `other`.
    pub group_min: u64,
    /// Those that wait, by the version of their SDK.
    pub sdk_versions: Vec<ShareView>,
    /// Those that wait, by the values of each attribute that they tell.
    pub attributes: BTreeMap<String, Vec<ShareView>>,
    /// Those that wait, by how many examples they have: powers of two. Null where a task with privacy runs or has run.
    pub example_counts: Option<Vec<ShareView>>,
    /// The updates of the last day whose clients have reported, by examples per second of training: powers of two. Null where a
    /// task with privacy runs or has run.
    pub training_speed: Option<Vec<ShareView>>,
    /// Why these two are null, if they are.
    pub withheld: Option<String>,
}

/// Clients, or updates, that have something in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShareView {
    /// What.
    pub value: String,
    /// How many.
    pub clients: u64,
}

/// What is to hold for everybody in a population. What is not said stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetPrivacyRequest {
    /// Whom the promises of its tasks protect: `client`, or `user`, with all devices. It can be changed only while nobody
    /// ever enrolled.
    #[schema(value_type = Option<UnitWord>)]
    pub unit: Option<Unit>,
    /// What all its tasks together may spend of a client or user: above 0, at most 1000. A task that would spend more
    /// ends, and one that promises nothing is refused.
    #[schema(exclusive_minimum = 0.0, maximum = 1000.0)]
    pub epsilon: Option<f64>,
    /// The delta of epsilon: above 0, below 1. One comes with the other.
    #[schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0)]
    pub delta: Option<f64>,
    /// Takes the budget away.
    pub no_budget: bool,
    /// The reason for which the tasks may spend more than before: needed to raise a budget or to take it away. It is written
    /// into the population's ledger, where everyone can read it who may read the ledger. At most 500 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 500)]
    pub weaken: Option<String>,
}

/// The units of privacy, as the OpenAPI document lists them.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "the document is made of it, and nothing else")]
enum UnitWord {
    /// Each client by itself.
    Client,
    /// A user, with all devices.
    User,
}
