#![doc = include_str!("../README.md")]

pub mod data_folder;
pub mod disk;
pub mod host;
pub mod http;
pub mod printable;
pub mod telemetry;
