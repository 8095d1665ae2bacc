//! What operators bring, checked and kept: models, examples to evaluate on, and tasks.

mod admission;
mod beginning;
pub mod evaluation_data;
/// What a task asks of its model.
pub mod fit;
mod model;
mod task;
#[cfg(test)]
mod tests;
mod version;

pub use model::create_model;
pub use task::{create_task, task_faults};
pub use version::{VersionError, WholeVersion};
