//! What the rounds of a task cost in bytes.

pub(crate) mod list;
pub(crate) mod view;
