#![doc = include_str!("../README.md")]

pub mod attack;
pub mod audit;
pub mod chance;
pub mod chart;
pub mod compare;
pub mod device;
pub mod partition;
pub mod record;
pub mod report;
mod setting;
pub mod simulate;
pub mod spread;
pub mod synthetic;

pub use setting::{InvalidSetting, InvalidSettingsError};

/// The maximum number of virtual clients of one simulation.
pub const CLIENTS_MAX: usize = 100_000;
