#![doc = include_str!("../README.md")]

mod answer;
mod app;
mod folder;
mod host;
mod pass;
mod router;
mod take;
mod upstream;
mod work;

pub use folder::FolderError;
pub use host::{EdgeHost, EdgeHostConfig, EdgeHostError};
