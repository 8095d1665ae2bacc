use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The protection of a client's update by noise. The levels say who adds the noise, from the weakest protection to the
/// strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProtectionLevel {
    /// Nobody adds noise.
    #[default]
    None,
    /// The client clips its update, and the coordinator adds noise to the sum. The client cannot check the noise.
    Central,
    /// The client clips its update, adds a share of the noise and masks the result, so that the coordinator sees only the noised
    /// sum. The client can check the noise in the plan; it trusts that most other clients add theirs.
    Distributed,
    /// The client clips its update and adds the noise itself, before anything leaves the device.
    Local,
}

impl ProtectionLevel {
    /// All levels, the weakest first.
    pub const ALL: [Self; 4] = [Self::None, Self::Central, Self::Distributed, Self::Local];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Central => "central",
            Self::Distributed => "distributed",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for ProtectionLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ProtectionLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let level = Self::ALL.into_iter().find(|level| level.name() == text);
        level.ok_or_else(|| "the level must be none, central, distributed or local".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_named_the_same_everywhere() {
        assert!(ProtectionLevel::ALL.is_sorted() && ProtectionLevel::None < ProtectionLevel::Local);
        for level in ProtectionLevel::ALL {
            assert_eq!(serde_json::to_value(level).unwrap(), level.to_string());
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert!("secret".parse::<ProtectionLevel>().is_err());
    }
}
