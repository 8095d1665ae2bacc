#![doc = include_str!("../README.md")]

pub mod aggregation;
pub mod finalizer;
pub mod invariants;
pub mod round;
pub mod scheduling;
pub mod task;
