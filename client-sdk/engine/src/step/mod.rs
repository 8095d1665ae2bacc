//! A step of a training, for every executor: its graph, what an executor is asked for, and what it gives back.
//!
//! The trainer stands above, and decides which examples a step sees. [`Executor`] is implemented by the processor
//! (`processor`) and by a graphics adapter (`gpu`), which know neither the trainer nor its plan.

mod data;
mod error;
mod executor;
mod graph;
mod host;
mod parameters;
mod rule;
mod secret_chance;
mod source;
#[cfg(test)]
pub(crate) mod testing;

#[cfg(feature = "gpu")]
pub(crate) use data::StepData;
pub(crate) use data::{append_shares, weight_sum};
pub(crate) use error::StepError;
pub use executor::block_on;
pub(crate) use executor::{Executor, Observer, StepRequest, StepResult};
pub(crate) use graph::{StepForm, StepGraph};
pub(crate) use host::HostState;
pub(crate) use parameters::{Parameters, Role};
#[cfg(feature = "gpu")]
pub(crate) use rule::LOSS_SCALE;
pub(crate) use rule::StepRule;
pub(crate) use secret_chance::NOISE_SCALE_MAX;
pub use secret_chance::SecretChance;
pub(crate) use source::StepSource;
