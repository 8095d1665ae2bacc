//! `folkmoot simulate --compare`: variants of a task in the same worlds.
//!
//! Each variant runs with the same seeds. With a seed, all variants have the same clients, data, devices and faults, so
//! differences between them are paired. [`crate::report::Comparison`] has the statistics and the report. This module has
//! the rest: the key by which a finished run is found again, the settings that differ, and the files.

mod files;
mod finished;
mod folder;
mod key;
mod settings;

pub use files::{rounds_csv, summaries_json};
pub use finished::FinishedRun;
pub use folder::folder_name;
pub use key::{run_key, shared_key};
pub use settings::differing;

/// The number of seeds of a comparison without a choice.
pub const SEEDS: u64 = 3;
/// The maximum number of seeds.
pub const SEEDS_MAX: u64 = 1_000;
