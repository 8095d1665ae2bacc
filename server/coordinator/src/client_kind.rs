use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The kind of clients in a population.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    /// Anonymous clients. Operators see only counts of them.
    #[default]
    Crowd,
    /// Named sites, such as hospitals. Operators see each of them.
    Sites,
}

impl ClientKind {
    /// Returns the name of the kind in the API and the database.
    pub fn name(self) -> &'static str {
        match self {
            ClientKind::Crowd => "crowd",
            ClientKind::Sites => "sites",
        }
    }
}

impl fmt::Display for ClientKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for ClientKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "crowd" => Ok(ClientKind::Crowd),
            "sites" => Ok(ClientKind::Sites),
            other => Err(format!("the kind of clients is {other:?}; it must be crowd or sites")),
        }
    }
}
