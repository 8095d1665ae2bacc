//! What is to be trained: a task's description and its state.

mod description;
mod eligibility;
mod fault;
mod selection;
mod state;
mod stop;

pub use description::{TASK_NAME_BYTES_MAX, TaskDescription};
pub use eligibility::{Candidate, Eligibility};
pub use fault::Fault;
pub use selection::SelectionChoice;
pub use state::{InvalidTaskTransitionError, TaskInput, TaskState};
pub use stop::{StopConditions, StopReason};
