//! A step of a training, as an executor sees it: its graph, what it is asked for, and what it gives back.
//!
//! [`Executor`] is implemented by the processor and by a graphics adapter. Who asks for steps stands above both.

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
