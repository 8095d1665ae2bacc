//! Decides when a device may train.

mod conditions;
mod plan_rules;
mod policy;

pub use conditions::{DeviceConditions, Thermal};
pub use plan_rules::PlanRules;
pub use policy::{DevicePolicy, PauseReason};
