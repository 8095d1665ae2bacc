#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod draw;
mod sabotage;
mod stream;

pub use draw::{DrawError, IS_SEEDED, Noises, noised_count, scale as noise_scale};
pub use sabotage::Sabotage;
pub use stream::StreamNoise;
