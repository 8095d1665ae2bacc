#![doc = include_str!("../README.md")]

pub mod catalog;
pub mod cli;
pub mod clock;
pub mod config;
pub mod coordinator;
pub mod credential;
pub mod device;
pub mod drivers;
pub mod host;
pub mod http;
pub mod ingest;
pub mod refusal;
pub mod telemetry;
