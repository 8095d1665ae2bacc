#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod collection;
pub mod data_folder;
pub mod disk;
pub mod host;
pub mod http;
mod metering;
pub mod stage;
pub mod watch;
