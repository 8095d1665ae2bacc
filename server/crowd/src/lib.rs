#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod crowds;
pub mod pacing;
mod waiters;

pub use crowds::{Crowds, Demand};
pub use waiters::Waiters;
