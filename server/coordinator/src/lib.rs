#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod abandon_reason;
pub mod audit_log;
mod client_kind;
pub mod invariants;
pub mod privacy;
pub mod rollout;
pub mod round;
pub mod scheduling;
pub mod sharing;
pub mod task;
pub mod tenancy;

pub use client_kind::ClientKind;
pub use folkmoot_selection as selection;
pub use folkmoot_selection::participation;
