//! The stages of the suite that do more than call cargo, one per file.

pub mod browser;
pub mod console;
pub mod contract;
pub mod deny;
pub mod deploy;
pub mod docs;
pub mod fuzz;
pub mod kotlin;
pub mod languages;
pub mod lint;
pub mod mobile;
pub mod swift;
pub mod wheel;
