//! Correlated noise for DP-FTRL: the noise added to each round's sum, as state machines over integers.
//!
//! Both kinds of noise release only exact functions of noised integers, so all arithmetic here is on integers. With
//! floats, the rounding would depend on the low bits of the data, or bounds would hold only with some probability.
//!
//! A coordinator draws with the scale that `noise_scale` returns for the multiplier of the whole stream. In each round
//! it calls `next_round` with a function that draws, adds the result to the sum, and stores `to_bytes` for the next
//! round.
//!
//! The states contain noise that later rounds subtract again. Anyone who reads a state can subtract that noise, too. So
//! keep states as secret as the sums without noise; they do not implement `Debug`.

mod blt;
mod bytes;
mod state;
#[cfg(test)]
mod tests;
mod tree;

pub use blt::BltNoise;
pub use bytes::StateError;
pub use state::CorrelatedNoise;
pub use tree::TreeNoise;

use crate::noise::NoiseError;

/// The noise of a round could not be computed. The sum must not be released, and the state is unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CorrelatedError {
    /// The draw failed.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A value does not fit into 64 bits.
    #[error("the correlated noise does not fit into 64 bits; use fewer fraction bits or a shorter tree")]
    Overflow,
    /// The stream of noise has no more rounds: all rounds that it was sized for are over.
    #[error(
        "the noise was sized for {rounds} rounds, which are over; plan the next rounds with a separate budget"
    )]
    Over {
        /// The planned number of rounds.
        rounds: u64,
    },
    /// A draw has the wrong length.
    #[error("a draw has {drawn} values, but the model has {count}; draw one value for each parameter")]
    Length {
        /// The number of values that were drawn.
        drawn: usize,
        /// The number of values that are needed.
        count: usize,
    },
}

/// Draws the noise and checks its length.
fn checked_draw(
    draw: &mut impl FnMut() -> Result<Vec<i64>, NoiseError>,
    count: usize,
) -> Result<Vec<i64>, CorrelatedError> {
    let drawn = draw()?;
    if drawn.len() == count { Ok(drawn) } else { Err(CorrelatedError::Length { drawn: drawn.len(), count }) }
}
