//! Rounds: what came of each cycle of a task.

pub(crate) mod assignments;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod view;
