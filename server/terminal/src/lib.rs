#![doc = include_str!("../README.md")]

mod overwrite;
mod signals;

pub use overwrite::{may_overwrite, treasure};
pub use signals::{Hangups, SignalError, stop_signal};
