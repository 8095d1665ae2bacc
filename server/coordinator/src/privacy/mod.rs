//! What the released versions may reveal of a client: the task's part `privacy`.

mod adaptive;
mod central;
mod clipping;
mod terms;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use adaptive::next_clipping_norm;
pub use central::{Amplification, CentralPrivacy};
pub use clipping::Clipping;
pub use terms::Terms;

/// What the released versions may reveal of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PrivacyChoice {
    /// Whatever the updates taught: nothing is promised.
    #[default]
    #[serde(deserialize_with = "crate::selection::no_fields")]
    None,
    /// The coordinator adds noise to every sum before a version is made of it, and ends the task when the budget is
    /// spent (McMahan et al. 2018, "Learning differentially private recurrent language models").
    Central(CentralPrivacy),
}

impl PrivacyChoice {
    /// Returns the terms of central differential privacy, if that is chosen.
    pub fn central(&self) -> Option<&CentralPrivacy> {
        match self {
            Self::None => None,
            Self::Central(central) => Some(central),
        }
    }

    /// Says whether nothing is promised.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}
