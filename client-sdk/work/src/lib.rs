#![doc = include_str!("../README.md")]

mod budget;
mod care;
mod consent;
mod event;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod work_error;

pub use budget::{Budget, OverBudget};
pub use care::{DeviceConditions, DevicePolicy, PauseReason, PlanRules, Thermal};
pub use consent::{Ask, Consent};
pub use event::{ClientEvent, event_of};
pub use work_error::WorkError;
