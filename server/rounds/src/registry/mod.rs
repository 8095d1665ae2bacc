//! Uploads from operators, checked and stored: models, evaluation examples, and tasks.

mod admission;
mod beginning;
mod component;
mod data_fit;
mod dropped;
mod endorsement;
pub mod evaluation_data;
/// Checks a task's description against its model.
pub mod fit;
mod model;
mod own_examples;
mod quota;
mod task;
#[cfg(test)]
mod tests;
mod version;

pub use component::{UploadedComponent, create_component};
pub use dropped::check_kept;
pub use endorsement::{endorse, endorsement_of};
pub use model::{create_model, create_named_model};
pub use own_examples::{OwnDivided, needs_own_examples};
pub use task::{create_task, task_faults};
pub use version::{VersionError, WholeVersion};
