//! Rounds: what came of each cycle of a task.

pub mod get;
pub mod list;
pub mod view;
