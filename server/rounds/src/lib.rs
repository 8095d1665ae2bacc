#![doc = include_str!("../README.md")]

pub mod catalog;
pub mod clock;
pub mod combine;
pub mod coordinator;
pub mod credential;
pub mod crowd;
pub mod device;
pub mod downstream;
pub mod drivers;
pub mod in_place;
pub mod ingest;
pub mod privacy;
pub mod refusal;
pub mod registry;
pub mod waiters;
