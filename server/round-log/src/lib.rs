#![doc = include_str!("../README.md")]
// Tests may use plain casts: their numbers are visible and small.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod copy;
mod error;
mod folder;
mod log;
mod memory;
mod reader;
mod segment;

pub use copy::LogCopy;
pub use error::RoundLogError;
pub use log::RoundLog;
pub use reader::LogReader;
pub use segment::LogSegment;
