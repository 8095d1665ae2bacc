//! Correlated noise of either kind: tree aggregation or a buffered linear Toeplitz factorisation.

use crate::noise::{NoiseError, NoiseScale};
use crate::noise_multiplier::NoiseMultiplier;

use super::bytes::{BLT, StateError};
use super::{BltNoise, CorrelatedError, TreeNoise};
use crate::accountant::ParticipationPattern;
use crate::budget::RangeError;

/// The noise of a stream of rounds: tree aggregation or a buffered linear Toeplitz factorisation.
#[derive(Clone)]
pub enum CorrelatedNoise {
    /// Tree aggregation.
    Tree(TreeNoise),
    /// A buffered linear Toeplitz factorisation.
    Blt(BltNoise),
}

impl CorrelatedNoise {
    /// Returns the number of vectors that must be drawn for the next round.
    pub fn draws(&self) -> u32 {
        match self {
            Self::Tree(tree) => tree.draws(),
            Self::Blt(_) => 1,
        }
    }

    /// Returns the scale of the draws with which `rounds` rounds together are 1/(2·multiplier²)-zCDP.
    ///
    /// `sensitivity` is the sensitivity to one participation, in grid steps.
    ///
    /// # Errors
    /// [`RangeError`] if the scale is out of range, or if a factorisation was sized for fewer than `rounds` rounds.
    pub fn noise_scale(
        &self,
        multiplier: NoiseMultiplier,
        sensitivity: f64,
        rounds: u64,
        pattern: ParticipationPattern,
    ) -> Result<NoiseScale, RangeError> {
        match self {
            Self::Tree(tree) => tree.noise_scale(multiplier, sensitivity, rounds, pattern),
            Self::Blt(blt) => {
                let is_sized = rounds <= blt.rounds();
                RangeError::unless(
                    is_sized,
                    "rounds",
                    rounds as f64,
                    "at most the rounds that the factorisation was sized for",
                )?;
                blt.noise_scale(multiplier, sensitivity, pattern)
            }
        }
    }

    /// Returns the noise to add to the next round's sum. `draw` must return new discrete Gaussian draws on each call.
    ///
    /// # Errors
    /// [`CorrelatedError`] if the draw failed or has the wrong length, the planned rounds are over, or a value does not
    /// fit into 64 bits. The state is then unchanged.
    pub fn next_round(
        &mut self,
        draw: impl FnMut() -> Result<Vec<i64>, NoiseError>,
    ) -> Result<Vec<i64>, CorrelatedError> {
        match self {
            Self::Tree(tree) => tree.next_round(draw),
            Self::Blt(blt) => blt.next_round(draw),
        }
    }

    /// Serialises the state. Anyone who reads it can subtract the noise, so keep it as secret as the sums without
    /// noise.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Tree(tree) => tree.to_bytes(),
            Self::Blt(blt) => blt.to_bytes(),
        }
    }

    /// Restores a state of either kind. It allocates no more memory than a few times the length of the bytes.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not a valid state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        match bytes.first() {
            Some(&BLT) => BltNoise::from_bytes(bytes).map(Self::Blt),
            _ => TreeNoise::from_bytes(bytes).map(Self::Tree),
        }
    }
}
