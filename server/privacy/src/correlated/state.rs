//! Either kind of correlated noise.

use crate::noise::{NoiseError, NoiseScale};
use crate::noise_multiplier::NoiseMultiplier;

use super::bytes::{BLT, StateError};
use super::{BltNoise, CorrelatedError, TreeNoise};
use crate::accountant::ParticipationPattern;
use crate::budget::RangeError;

/// The noise of a stream of rounds, either way.
#[derive(Clone)]
pub enum CorrelatedNoise {
    /// Tree aggregation.
    Tree(TreeNoise),
    /// A buffered linear Toeplitz factorisation.
    Blt(BltNoise),
}

impl CorrelatedNoise {
    /// Returns how many vectors of draws the next round needs.
    pub fn draws(&self) -> u32 {
        match self {
            Self::Tree(tree) => tree.draws(),
            Self::Blt(_) => 1,
        }
    }

    /// Derives the scale of the draws, so that `rounds` rounds together are 1/(2·multiplier²)-zCDP.
    ///
    /// `sensitivity` is that of one participation, in grid steps.
    ///
    /// # Errors
    /// [`RangeError`] if the noise has no room, or a factorisation was sized for fewer rounds.
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
                RangeError::unless(is_sized, "rounds", rounds as f64, "at most those of the factorisation")?;
                blt.noise_scale(multiplier, sensitivity, pattern)
            }
        }
    }

    /// Makes the noise to be added to the next round's sum. `draw` gives discrete Gaussian draws, new ones each time.
    ///
    /// # Errors
    /// [`CorrelatedError`], and the state is as it was.
    pub fn next_round(
        &mut self,
        draw: impl FnMut() -> Result<Vec<i64>, NoiseError>,
    ) -> Result<Vec<i64>, CorrelatedError> {
        match self {
            Self::Tree(tree) => tree.next_round(draw),
            Self::Blt(blt) => blt.next_round(draw),
        }
    }

    /// Writes the state. Who reads it takes the noise off again: it is as secret as the sums before the noise.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Tree(tree) => tree.to_bytes(),
            Self::Blt(blt) => blt.to_bytes(),
        }
    }

    /// Reads a state of either kind. No more memory is taken than a few times the length of the bytes.
    ///
    /// # Errors
    /// [`StateError`] if it is not one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        match bytes.first() {
            Some(&BLT) => BltNoise::from_bytes(bytes).map(Self::Blt),
            _ => TreeNoise::from_bytes(bytes).map(Self::Tree),
        }
    }
}
