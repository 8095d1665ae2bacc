use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The text is not a valid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {kind}; {expected}")]
pub struct InvalidIdError {
    kind: &'static str,
    text: String,
    expected: &'static str,
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = "uuid"))]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates an id from 16 random bytes. The caller provides them, so that this package needs no random
            /// number generator.
            pub fn from_random_bytes(bytes: [u8; 16]) -> Self {
                Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
            }

            /// Creates an id from the 16 bytes that [`Self::as_bytes`] returned.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// Returns the id's 16 bytes, as in binary messages.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0.hyphenated())
            }
        }

        impl FromStr for $name {
            type Err = InvalidIdError;

            fn from_str(text: &str) -> Result<Self, InvalidIdError> {
                Uuid::try_parse(text).map(Self).map_err(|_| InvalidIdError {
                    kind: $kind,
                    text: text.chars().take(64).collect(),
                    expected: "use a UUID such as 6f2c5a1e-8a3b-4c1d-9e0f-2b7d6a5c4e3f",
                })
            }
        }
    };
}

uuid_id!(
    /// An organisation, the owner of populations, tasks and keys.
    OrganisationId,
    "organisation id"
);
uuid_id!(
    /// One enrolled install of the SDK, on a device or in a browser.
    ClientId,
    "client id"
);
uuid_id!(
    /// A long-lived goal over a population.
    TaskId,
    "task id"
);
uuid_id!(
    /// One cycle of a task: select, report, aggregate, commit.
    RoundId,
    "round id"
);
uuid_id!(
    /// One client's part in one round; also the idempotency key of its upload.
    AssignmentId,
    "assignment id"
);

impl AssignmentId {
    /// Returns a seed that is the same whenever work for this assignment is repeated, and different for other
    /// assignments. It is not secret.
    pub fn seed(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = *self.as_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

macro_rules! slug {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[a-z][a-z0-9-]{0,63}$"))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidIdError;

            fn from_str(text: &str) -> Result<Self, InvalidIdError> {
                match is_slug(text) {
                    true => Ok(Self(text.to_owned())),
                    false => Err(InvalidIdError {
                        kind: $kind,
                        text: text.chars().take(64).collect(),
                        expected: "use 1 to 64 characters of a-z, 0-9 and -, starting with a letter",
                    }),
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidIdError;

            fn try_from(text: String) -> Result<Self, InvalidIdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

slug!(
    /// The name of a population, unique in its organisation: 1 to 64 characters of `a-z 0-9 -`, starting with a letter.
    PopulationName,
    "population name"
);
slug!(
    /// The name of a channel of a population, in which models are rolled out, such as `stable` or `beta`: 1 to 64 characters of
    /// `a-z 0-9 -`, starting with a letter.
    ChannelName,
    "channel name"
);

impl Default for ChannelName {
    fn default() -> Self {
        Self("stable".to_owned())
    }
}

fn is_slug(text: &str) -> bool {
    let starts_with_letter = text.starts_with(|c: char| c.is_ascii_lowercase());
    let is_plain = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    starts_with_letter && is_plain && text.len() <= 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_text_and_bytes() {
        let id = TaskId::from_random_bytes([7; 16]);
        assert_eq!(id.to_string().parse::<TaskId>().unwrap(), id);
        assert_eq!(TaskId::from_bytes(*id.as_bytes()), id);
    }

    #[test]
    fn a_population_name_is_a_slug() {
        for good in ["digits", "a", "a-1"] {
            assert!(good.parse::<PopulationName>().is_ok(), "{good}");
        }
        for bad in ["", "1a", "-a", "Digits", "a b", "ä", "../a", &"a".repeat(65)] {
            assert!(bad.parse::<PopulationName>().is_err(), "{bad}");
        }
    }
}
