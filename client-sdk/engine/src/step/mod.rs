//! A step of a training, for every executor: its graph, and which weights it changes.

mod graph;
mod parameters;
mod secret_chance;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use graph::{StepForm, StepGraph};
pub(crate) use parameters::{Parameters, Role};
pub(crate) use secret_chance::NOISE_SCALE_MAX;
pub use secret_chance::SecretChance;
