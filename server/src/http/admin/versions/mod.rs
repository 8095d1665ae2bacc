//! Model versions: what a task has made so far.

pub mod download;
pub mod list;
