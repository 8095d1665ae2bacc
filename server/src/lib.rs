#![doc = include_str!("../README.md")]

pub mod audit;
pub mod catalog;
pub mod cli;
pub mod clock;
pub mod combine;
pub mod config;
pub mod coordinator;
pub mod credential;
pub mod crowd;
mod data_folder;
pub mod device;
mod disk;
pub mod downstream;
pub mod drivers;
pub mod host;
pub mod http;
mod in_place;
pub mod ingest;
pub mod printable;
pub mod privacy;
pub mod refusal;
pub mod registry;
pub mod simulate;
pub mod task_file;
pub mod telemetry;
pub mod waiters;
