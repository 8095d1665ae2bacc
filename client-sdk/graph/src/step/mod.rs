//! A training step from an executor's point of view: its graph, its request and its measurements.
//!
//! The CPU executor and the GPU executor implement [`Executor`]. The trainer that requests steps sits above both.

mod data;
mod executor;
mod graph;
mod host;
mod rule;

pub use data::{StepData, append_shares, weight_sum};
pub use executor::{Executor, Observer, StepRequest, StepResult, block_on};
pub use graph::StepGraph;
pub use host::HostState;
pub use rule::{LOSS_SCALE, StepRule};
