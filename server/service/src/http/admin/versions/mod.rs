//! Model versions: what a task has made so far.

pub(crate) mod download;
pub(crate) mod list;
