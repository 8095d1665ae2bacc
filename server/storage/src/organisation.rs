use folkmoot_coordinator::tenancy::{Day, Quotas, Usage};
use folkmoot_protocol::{OrganisationId, Timestamp};

/// The name of the organisation that has the keys of system administrators and nothing else.
pub const SYSTEM_ORGANISATION: &str = "system";

/// A tenant of the coordinator. Everything else belongs to one organisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrganisationRecord {
    /// The id.
    pub id: OrganisationId,
    /// The name, unique in the coordinator.
    pub name: String,
    /// When the organisation was created.
    pub created_at: Timestamp,
    /// When the organisation was closed; `None` if it is open.
    pub closed_at: Option<Timestamp>,
    /// The quotas.
    pub quotas: Quotas,
}

/// The number of credentials that closing an organisation revoked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClosedOrganisation {
    /// API keys.
    pub api_keys: u64,
    /// Enrolment tokens.
    pub tokens: u64,
    /// Clients.
    pub clients: u64,
}

/// An organisation's quotas, and its usage on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenancyRecord {
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The quotas.
    pub quotas: Quotas,
    /// The usage that all processes have stored for the day.
    pub used: Usage,
}

/// The usage of an organisation on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageRecord {
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The organisation's name.
    pub organisation: String,
    /// The day.
    pub day: Day,
    /// The usage.
    pub used: Usage,
}

/// The current clients, tasks and bytes of an organisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Clients that are not revoked.
    pub clients: u64,
    /// Tasks that have not ended.
    pub tasks: u64,
    /// The bytes of all models and versions.
    pub stored_bytes: u64,
}
