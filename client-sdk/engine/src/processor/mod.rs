//! Takes the steps of a training on the processor: the gradient of a step's examples, then the update of the weights.

mod accumulator;
mod batch_program;
mod clipping;
mod dense_gradients;
mod gradients;
mod optimizer;
mod per_example;
mod private_sum;
mod recorder;
mod update;

pub(crate) use batch_program::{Observer, StepProgram};
pub(crate) use clipping::norm_factor;
pub(crate) use gradients::{Measured, StepInput, StepSource, Steps};
pub(crate) use optimizer::{Optimizer, StepNumber, optimizer};
pub(crate) use recorder::{Recorded, is_sum_of_gradients};
pub(crate) use update::{Adjustment, update_tensor};
