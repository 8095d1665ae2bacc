use serde::{Deserialize, Serialize};

/// What an API key may do. A role may do all that the roles before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// See.
    Viewer,
    /// Run tasks.
    Operator,
    /// Hand out tokens and keys.
    Admin,
}

impl Role {
    /// Returns the role's name, as the API shows it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }
}
