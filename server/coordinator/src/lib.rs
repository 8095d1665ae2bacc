#![doc = include_str!("../README.md")]

mod abandon_reason;
pub mod invariants;
pub mod pacing;
pub mod participation;
pub mod privacy;
pub mod round;
pub mod scheduling;
pub mod selection;
pub mod sharing;
pub mod task;
