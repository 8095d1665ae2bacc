//! Decides when a device may train.

mod conditions;
mod plan_rules;
mod policy;
mod state;

pub use conditions::{DeviceConditions, Thermal};
pub use policy::{DevicePolicy, PauseReason};
pub use state::{Care, Counting, TimeToStore};
