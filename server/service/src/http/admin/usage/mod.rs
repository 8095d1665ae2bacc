//! The usage of organisations.

mod days;
pub(crate) mod get;
pub(crate) mod list;
