use serde::{Deserialize, Serialize};

/// The permissions of an API key or person. Operators include viewers, and admins include both. Privacy officers include
/// viewers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read everything.
    Viewer,
    /// Run tasks.
    Operator,
    /// Weaken a promise of privacy, for example raise a budget. While an organisation has a privacy officer, nobody else
    /// may weaken one.
    PrivacyOfficer,
    /// Create API keys, revoke clients and set privacy budgets.
    Admin,
    /// Create and close organisations. Includes no other role, because the data of organisations is their own.
    System,
    /// Sum the updates of clients for the coordinator, as an edge aggregator. Includes no other role.
    Aggregator,
}

impl Role {
    /// Returns the role's name, as the API shows it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::PrivacyOfficer => "privacy_officer",
            Role::Admin => "admin",
            Role::System => "system",
            Role::Aggregator => "aggregator",
        }
    }
}
