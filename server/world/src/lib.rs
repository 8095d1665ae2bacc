#![doc = include_str!("../README.md")]

pub mod attack;
pub mod chance;
pub mod device;
pub mod partition;
mod setting;
pub mod synthetic;

pub use setting::{InvalidSetting, InvalidSettingsError};

/// The maximum number of virtual clients of one simulation.
pub const CLIENTS_MAX: usize = 100_000;
