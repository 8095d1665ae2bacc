//! Named sites: the clients of a population that is not an anonymous crowd.

use std::collections::BTreeMap;

use folkmoot_coordinator::ClientKind;
use folkmoot_protocol::{ClientId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of a population's sites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SitesView {
    /// The sites, by name. Two clients of one site are listed separately.
    pub sites: Vec<SiteView>,
    /// The reason why figures about sites are null; null if they have values.
    pub withheld: Option<String>,
}

/// A site and its latest activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SiteView {
    /// The name of the site, which is the name of the token that it enrolled with.
    pub name: String,
    /// The id of the site's client.
    pub client: ClientId,
    /// The public part of the token that the site enrolled with.
    #[schema(value_type = Option<String>)]
    pub token_id: Option<String>,
    /// When the site enrolled.
    pub enrolled_at: Timestamp,
    /// When the site was revoked; null if it was not.
    pub revoked_at: Option<Timestamp>,
    /// When the site last checked in, uploaded, reported or gave up an assignment. Null once a task of the population
    /// has claimed privacy amplification by sampling.
    pub last_seen_at: Option<Timestamp>,
    /// The version of the SDK in the latest check-in; null before the first one.
    pub sdk_version: Option<String>,
    /// The attributes in the latest check-in, such as the app's version if the app reports it.
    pub attributes: BTreeMap<String, String>,
    /// The number of assignments that ended without an update from the site. Null if a private task runs or has run in
    /// the population.
    pub failures: Option<u64>,
    /// The latest of these assignments. Null if there is none, or whenever `failures` is null.
    pub last_failure: Option<SiteFailureView>,
}

/// An assignment that ended without an update from the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SiteFailureView {
    /// When the assignment ended.
    pub at: Timestamp,
    /// `expired`, `left_behind`, `aborted` by the site, or `refused` by the coordinator.
    pub kind: String,
    /// The site's reason to abort the assignment, or the error code with which its update was refused.
    pub reason: Option<String>,
    /// The details that the site sent with its reason.
    pub detail: Option<String>,
}

/// A change of the kind of a population's clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetClientsRequest {
    /// `crowd` for anonymous clients, of which operators see only counts, or `sites` for named clients. The kind can be
    /// changed only before the first client enrols.
    #[schema(value_type = ClientKindWord)]
    pub clients: ClientKind,
}

/// The kinds of clients, as the OpenAPI document lists them.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "only the OpenAPI document uses it")]
pub(crate) enum ClientKindWord {
    /// Anonymous clients.
    Crowd,
    /// Named sites.
    Sites,
}
