use serde::{Deserialize, Serialize};

use crate::accountant::BufferedToeplitz;
use crate::noise_multiplier::NoiseMultiplier;

/// Independent Gaussian noise on every round's sum, added by the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gaussian {
    /// The noise multiplier relative to one participation. With adaptive clipping it covers both the updates and the
    /// bits.
    pub noise_multiplier: NoiseMultiplier,
}

/// DP-FTRL with tree aggregation: noise on every node of a binary tree over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The multiplier of a node's noise relative to one participation.
    pub noise_multiplier: NoiseMultiplier,
    /// The number of rounds after which a new tree begins.
    pub leaves_per_tree: u64,
}

/// DP-FTRL with a buffered linear Toeplitz (BLT) factorisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blt {
    /// The multiplier z relative to the sensitivity of the whole factorisation: all rounds together cost ρ = 1/(2z²).
    pub noise_multiplier: NoiseMultiplier,
    /// The parameters of the factorisation.
    pub matrix: BufferedToeplitz,
    /// The rounds, separation and participations for which the sensitivity was computed.
    pub planned: PlannedRounds,
}

/// The participation pattern for which a factorisation's sensitivity was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedRounds {
    /// The maximum number of rounds.
    pub rounds: u64,
    /// The maximum number of rounds that a client is in.
    pub participations_max: u64,
    /// The minimum difference between the numbers of two rounds of one client.
    pub separation: u64,
}

/// Gaussian noise that every client adds to its own update before it leaves the device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalGaussian {
    /// The multiplier of one client's noise relative to the sensitivity of its own update.
    pub noise_multiplier: NoiseMultiplier,
}

/// Any supported mechanism.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Mechanism {
    /// [`Gaussian`].
    Gaussian(Gaussian),
    /// [`Tree`].
    Tree(Tree),
    /// [`Blt`].
    Blt(Blt),
    /// [`LocalGaussian`].
    LocalGaussian(LocalGaussian),
}

impl Mechanism {
    /// Returns the mechanism's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gaussian(_) => "independent Gaussian noise",
            Self::Tree(_) => "tree aggregation",
            Self::Blt(_) => "a buffered Toeplitz factorisation",
            Self::LocalGaussian(_) => "local Gaussian noise",
        }
    }
}
