//! Organisations: the tenants of a coordinator.

use folkmoot_protocol::{DisplayName, OrganisationId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{api_keys::CreatedApiKey, usage::QuotasView};

/// An organisation. Its tasks, models, populations, clients, tokens and API keys are invisible to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OrganisationView {
    /// The id.
    pub id: OrganisationId,
    /// The name, unique in the coordinator.
    pub name: String,
    /// When the organisation was created.
    pub created_at: Timestamp,
    /// When the organisation was closed; null if it is open.
    pub closed_at: Option<Timestamp>,
    /// The quotas.
    pub quotas: QuotasView,
}

/// A request to create an organisation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateOrganisationRequest {
    /// A name that no organisation of this coordinator has, 1 to 128 bytes without control characters.
    #[schema(
        value_type = String, min_length = 1, max_length = 128,
        // No control or bidirectional formatting characters, and at least one character that is not white space.
        pattern = "^(?!\\s*$)[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]+$"
    )]
    pub name: DisplayName,
}

/// A new organisation with its first API key, which has the role `admin`. The key is returned only in this response.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedOrganisation {
    /// The organisation.
    pub organisation: OrganisationView,
    /// Its first API key.
    pub first_key: CreatedApiKey,
}

/// The credentials and tasks that ended with an organisation. The counts of a second request are 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClosedOrganisationView {
    /// The organisation's id.
    pub id: OrganisationId,
    /// The number of API keys that were revoked.
    pub api_keys_revoked: u64,
    /// The number of enrolment tokens that were revoked.
    pub tokens_revoked: u64,
    /// The number of clients that were revoked.
    pub clients_revoked: u64,
    /// The number of tasks that were cancelled.
    pub tasks_cancelled: u64,
}
