//! The rules, one per file. Each has a function `check(&Repository) -> Vec<Finding>`.

pub mod acyclic_modules;
pub mod banned_words;
pub mod crate_readme;
pub mod dependency_direction;
pub mod deployment;
pub mod kernel_twins;
pub mod plain_english;
pub mod provenance;
pub mod purity;
pub mod registries;
pub mod repetition;
pub mod root_folder;
pub mod setting_names;
pub mod size_ratchet;
pub mod swift_api;
pub mod threat_model;
pub mod unfinished;
pub mod walkthroughs;
