//! Sessions for browsers, which must not store an API key.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
mod view;
