#![doc = include_str!("../README.md")]

pub mod clock;
pub mod coordinator;
pub mod device;
pub mod drivers;
pub mod host;
pub mod http;
pub mod ingest;
pub mod refusal;
