#![doc = include_str!("../README.md")]

pub mod accountant;
pub mod audit;
mod budget;
pub mod calibrate;
mod charge;
pub mod claim;
pub mod correlated;
pub mod ledger;
pub mod noise;
mod noise_multiplier;
pub mod opinion;
pub mod plan;

pub use budget::{Delta, Epsilon, RangeError, Rho, SamplingRate, Unit};
pub use noise_multiplier::{NOISE_MULTIPLIER_MAX, NOISE_MULTIPLIER_MIN, NoiseMultiplier, Relation};
