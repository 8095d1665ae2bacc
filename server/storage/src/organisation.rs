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
