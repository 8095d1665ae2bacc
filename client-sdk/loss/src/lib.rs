#![doc = include_str!("../README.md")]

pub mod loss;
pub mod metrics;
