use serde::{Deserialize, Serialize};

use crate::accountant::BufferedToeplitz;
use crate::noise_multiplier::NoiseMultiplier;

/// Independent Gaussian noise on every round's sum, added by the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gaussian {
    /// The noise over the sensitivity of one participation. With adaptive clipping: of updates and bits together.
    pub noise_multiplier: NoiseMultiplier,
}

/// DP-FTRL with tree aggregation: noise on every node of a binary tree over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The noise of a node over the sensitivity of one participation.
    pub noise_multiplier: NoiseMultiplier,
    /// After how many rounds a new tree begins.
    pub leaves_per_tree: u64,
}

/// DP-FTRL with a buffered linear Toeplitz factorisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blt {
    /// The noise z over the sensitivity of the whole factorisation: ρ is 1/(2z²) for all rounds together.
    pub noise_multiplier: NoiseMultiplier,
    /// The factorisation.
    pub matrix: BufferedToeplitz,
    /// The rounds, separation and participations for which its sensitivity was computed.
    pub planned: PlannedRounds,
}

/// For what a factorisation's sensitivity was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedRounds {
    /// How many rounds there are at most.
    pub rounds: u64,
    /// In how many of them a client is at most.
    pub participations_max: u64,
    /// By how much the numbers of two of its rounds differ at least.
    pub separation: u64,
}

/// Gaussian noise that every client adds to its own update before it leaves the device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalGaussian {
    /// The noise of one client over the sensitivity of its own update.
    pub noise_multiplier: NoiseMultiplier,
}

/// Any of the mechanisms.
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
    /// Returns its name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gaussian(_) => "independent Gaussian noise",
            Self::Tree(_) => "tree aggregation",
            Self::Blt(_) => "a buffered Toeplitz factorisation",
            Self::LocalGaussian(_) => "local Gaussian noise",
        }
    }
}
