//! Correlated noise for DP-FTRL: what is added to each round's sum, as state machines over integers.
//!
//! Both release a function of noised integers and of nothing else, exactly. That is why everything here is integer
//! arithmetic: a noise that was combined in floats is rounded in a way that depends on the data's low bits or on bounds
//! that only hold with some probability.
//!
//! A coordinator draws with the scale that `noise_scale` gives for the multiplier of the whole stream, adds what
//! `next_round` makes of the draws to each round's sum, and keeps `to_bytes` from one round to the next.
//!
//! The states hold noise that is still to be taken off again in later rounds. Who reads them takes it off too: they are
//! kept as secretly as the sums before the noise, and they are not `Debug`.

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

/// The noise of a round could not be made. The sum must not be released, and the state is as it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CorrelatedError {
    /// No draw.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A value left 64 bits.
    #[error("the correlated noise left 64 bits; take fewer fraction bits or a shorter tree")]
    Overflow,
    /// More rounds than the noise was sized for.
    #[error(
        "the noise was sized for {rounds} rounds, which are over; plan the next rounds with a budget of their own"
    )]
    Over {
        /// How many rounds were planned.
        rounds: u64,
    },
    /// A draw of another length.
    #[error("a draw has {drawn} values and the model {count}; draw the noise for this model")]
    Length {
        /// How many values were drawn.
        drawn: usize,
        /// How many are needed.
        count: usize,
    },
}

/// Calls for a draw and checks its length.
fn checked_draw(
    draw: &mut impl FnMut() -> Result<Vec<i64>, NoiseError>,
    count: usize,
) -> Result<Vec<i64>, CorrelatedError> {
    let drawn = draw()?;
    if drawn.len() == count { Ok(drawn) } else { Err(CorrelatedError::Length { drawn: drawn.len(), count }) }
}
