//! A task's `privacy`: limits on what the released versions may reveal about a client.

mod adaptive;
mod amplification;
mod central;
mod clipping;
mod context;
mod distributed;
mod limits;
mod local;
mod population;
mod sum_noise;
mod terms;
#[cfg(test)]
mod tests;
mod validation;

use serde::{Deserialize, Serialize};

use crate::participation::Participated;

pub use adaptive::next_clipping_norm;
pub use amplification::Amplification;
pub use central::CentralPrivacy;
pub use clipping::Clipping;
pub(crate) use context::PrivacyContext;
pub use distributed::DistributedPrivacy;
pub use limits::{EPSILON_MAX, Limits};
pub use local::LocalPrivacy;
pub use population::{PopulationBudget, PopulationPrivacy};
pub use sum_noise::{Stream, StreamShape, SumNoise};
pub use terms::Terms;

/// Limits on what the released versions may reveal about a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PrivacyChoice {
    /// No privacy guarantee.
    #[default]
    #[serde(deserialize_with = "crate::selection::no_fields")]
    None,
    /// Central differential privacy. The coordinator adds noise to every sum before it makes a version, and ends
    /// the task when the budget is spent (McMahan et al. 2018, "Learning differentially private recurrent
    /// language models").
    Central(CentralPrivacy),
    /// Local differential privacy. Every client adds noise to its update before it leaves the device (Duchi,
    /// Jordan and Wainwright 2013, "Local privacy and statistical minimax rates"). Readers of updates learn no
    /// more than epsilon allows, but versions contain much more noise.
    Local(LocalPrivacy),
    /// Distributed differential privacy. Every client adds a share of the noise and masks its update, so that nobody
    /// sees less noise than that of a whole sum.
    Distributed(DistributedPrivacy),
}

impl PrivacyChoice {
    /// Returns the terms of central differential privacy, if it is chosen.
    pub fn central(&self) -> Option<&CentralPrivacy> {
        match self {
            Self::Central(central) => Some(central),
            _ => None,
        }
    }

    /// Returns whether a client or user with this participation may be in a round that starts from
    /// `base_version`. `rounds` is the task's round limit. A waiting client has no other assignment that could
    /// still be accepted.
    pub(crate) fn allows(&self, history: Participated, base_version: u64, rounds: Option<u64>) -> bool {
        match self {
            Self::None => true,
            Self::Central(central) => {
                let is_apart = match (central.noise.separation(), history.accepted_from) {
                    (Some(separation), Some(last)) => base_version >= last.saturating_add(separation),
                    _ => true,
                };
                is_apart && central.participations_max.is_none_or(|most| history.accepted < most)
            }
            // Sending an update already spends budget, even if no version contains it.
            Self::Local(LocalPrivacy { participations_max, .. })
            | Self::Distributed(DistributedPrivacy { participations_max, .. }) => {
                participations_max.or(rounds).is_none_or(|most| history.starts < most)
            }
        }
    }

    /// Returns whether the task promises no privacy.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}
