#![doc = include_str!("../README.md")]

pub mod audit;
pub mod chart;
pub mod compare;
pub mod contributions;
pub mod functions;
pub mod record;
pub mod report;
pub mod simulate;
pub mod spread;

pub use folkmoot_world::{
    CLIENTS_MAX, InvalidSetting, InvalidSettingsError, attack, chance, device, partition, synthetic,
};
