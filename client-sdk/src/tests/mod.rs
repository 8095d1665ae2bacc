//! The client against a small coordinator in the same process.

mod care;
mod compression;
mod declining;
mod fake;
#[cfg(feature = "gpu")]
mod gpu;
mod listener;
mod prefetch;
mod story;
mod tiny_model;
mod tls;
mod traffic;
mod transparency;
