#![doc = include_str!("../README.md")]

mod moment;
mod overwrite;
mod signals;

pub use moment::moment;
pub use overwrite::{may_overwrite, treasure};
pub use signals::{Hangups, SignalError, stop_signal};
