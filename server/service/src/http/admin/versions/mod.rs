//! The model versions of a task.

pub(crate) mod download;
pub(crate) mod list;
