//! Runs training steps on the CPU: computes the gradient of a step's examples, then updates the weights.

mod accumulator;
mod ascent;
mod batch_program;
mod clipping;
mod curvature;
mod dense_gradients;
mod executor;
mod gradients;
mod memory_limit;
mod newton;
mod optimizer;
mod per_example;
mod private_sum;
mod probe;
mod products;
mod recorded;
mod recorder;
mod references;
mod second_order;
mod update;

pub(crate) use batch_program::{BatchProgram, BatchSource};
pub(crate) use executor::Processor;
pub(crate) use optimizer::rule as optimizer_rule;
pub(crate) use recorded::Recorded;
