//! Decides when a device may train: its conditions must hold, and the training time per day is limited.

mod conditions;
#[cfg(not(target_family = "wasm"))]
mod day_time;
#[cfg(not(target_family = "wasm"))]
mod device_care;
#[cfg(not(target_family = "wasm"))]
mod plan_rules;
mod policy;

pub use conditions::{DeviceConditions, Thermal};
#[cfg(not(target_family = "wasm"))]
pub(crate) use day_time::DayTime;
#[cfg(not(target_family = "wasm"))]
pub use device_care::DeviceCare;
#[cfg(not(target_family = "wasm"))]
pub(crate) use device_care::PauseReasons;
pub use policy::{DevicePolicy, PauseReason};
