//! The parts of a plan's steps: the weights that steps change, and the graph that executors compile.

mod constraint;
mod error;
mod graph;
mod parameters;
mod secret_chance;
mod source;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use error::StepError;
pub(crate) use graph::{StepForm, step_graph};
pub(crate) use parameters::{Parameters, Phase, Role};
pub(crate) use secret_chance::NOISE_SCALE_MAX;
pub use secret_chance::SecretChance;
pub(crate) use source::StepSource;
