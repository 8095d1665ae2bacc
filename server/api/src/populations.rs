//! Populations: their clients and their privacy settings.

mod rollouts;

use std::collections::BTreeMap;

use folkmoot_coordinator::ClientKind;
use folkmoot_privacy::{Delta, Epsilon, Unit};
use folkmoot_protocol::{PopulationName, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use rollouts::{ChangeRolloutRequest, CreateRolloutRequest, RolloutView};

use crate::sites::ClientKindWord;

/// A population: all clients that are enrolled for one app's data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PopulationView {
    /// The name of the population.
    pub name: PopulationName,
    /// The number of enrolled clients, without revoked ones.
    pub client_count: u64,
    /// `crowd` if the clients are anonymous, or `sites` if each is a named site.
    #[schema(value_type = ClientKindWord)]
    pub clients: ClientKind,
    /// The unit of privacy: `client`, or `user` with all their devices.
    #[schema(value_type = String)]
    pub unit: Unit,
    /// The total epsilon that all tasks may spend for one client or user. Null if the population has no budget of its
    /// own.
    #[schema(value_type = Option<f64>)]
    pub epsilon: Option<Epsilon>,
    /// The delta of the budget. Null if `epsilon` is null.
    #[schema(value_type = Option<f64>)]
    pub delta: Option<Delta>,
    /// True if viewers and privacy officers may download the models of the population's tasks.
    pub viewers_download: bool,
    /// When the population was created.
    pub created_at: Timestamp,
}

/// A change of who may download the models of a population's tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetDownloadsRequest {
    /// True if viewers and privacy officers may download the models. Operators and admins always may.
    pub viewers_download: bool,
}

/// Statistics about a population's clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClientsView {
    /// The number of enrolled clients, without revoked ones.
    pub enrolled: u64,
    /// The number of revoked clients.
    pub revoked: u64,
    /// The number of clients that are waiting for a round. Null while a task of the population claims privacy
    /// amplification by sampling; the lists about waiting clients are then empty.
    pub waiting: Option<u64>,
    /// The number of clients with an open assignment. Null whenever `waiting` is null.
    pub training: Option<u64>,
    /// The minimum number of clients in a group that is listed on its own. Smaller groups are combined as `other`.
    pub group_min: u64,
    /// The number of waiting clients for each SDK version.
    pub sdk_versions: Vec<ShareView>,
    /// For each attribute that clients report, the number of waiting clients with each value.
    pub attributes: BTreeMap<String, Vec<ShareView>>,
    /// The number of waiting clients for each range of example counts; the ranges start at powers of two. Null if a
    /// private task runs or has run in the population.
    pub example_counts: Option<Vec<ShareView>>,
    /// The number of updates in the last 24 hours for each range of training speeds, in examples per second. The
    /// ranges start at powers of two. Updates without a reported training time are not counted. Null if a private
    /// task runs or has run in the population.
    pub training_speed: Option<Vec<ShareView>>,
    /// The reason why `example_counts` and `training_speed` are null. Null if the two have values.
    pub withheld: Option<String>,
}

/// A group of clients or updates with the same value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShareView {
    /// The value that all members of the group share, or `other`.
    pub value: String,
    /// The number of clients or updates in the group.
    pub clients: u64,
}

/// A change of a population's privacy settings. Omitted fields keep their values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetPrivacyRequest {
    /// The unit of privacy: `client`, or `user` with all their devices. It can be changed only before the first
    /// client enrols.
    #[schema(value_type = Option<UnitWord>)]
    pub unit: Option<Unit>,
    /// The total epsilon that all tasks may spend for one client or user: greater than 0, at most 1000. A task ends
    /// before it would exceed this budget, and a task without `privacy` is rejected.
    #[schema(exclusive_minimum = 0.0, maximum = 1000.0)]
    pub epsilon: Option<f64>,
    /// The delta for `epsilon`: greater than 0, less than 1. Set `epsilon` and `delta` together, or neither.
    #[schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0)]
    pub delta: Option<f64>,
    /// If true, removes the budget.
    pub no_budget: bool,
    /// The reason for weakening the guarantee, at most 500 characters. It is required to raise or remove a budget.
    /// The coordinator writes it to the population's ledger, where every reader of the ledger can see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 500)]
    pub weaken: Option<String>,
}

/// The units of privacy, as the OpenAPI document lists them.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "only the OpenAPI document uses it")]
enum UnitWord {
    /// A single client.
    Client,
    /// A user with all their devices.
    User,
}
