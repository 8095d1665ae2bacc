//! The stages of the suite that are more than a call of cargo: one file for each.

pub mod browser;
pub mod console;
pub mod contract;
pub mod fuzz;
pub mod kotlin;
pub mod languages;
pub mod lint;
pub mod mobile;
pub mod swift;
pub mod wheel;
