//! Rounds of a task and their outcomes.

pub(crate) mod assignments;
pub(crate) mod get;
pub(crate) mod list;
mod scores;
pub(crate) mod view;
