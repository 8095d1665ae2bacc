use serde::{Deserialize, Serialize};

/// The permissions of an API key. Each role but the last includes those of the roles before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read everything.
    Viewer,
    /// Run tasks.
    Operator,
    /// Create tokens and API keys.
    Admin,
    /// Create and close organisations. Includes no other role, because the data of organisations is their own.
    System,
}

impl Role {
    /// Returns the role's name, as the API shows it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
            Role::System => "system",
        }
    }
}
