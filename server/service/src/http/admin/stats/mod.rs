//! The traffic of a task's rounds.

pub(crate) mod list;
pub(crate) mod view;
