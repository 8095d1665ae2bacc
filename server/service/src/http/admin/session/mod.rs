//! Sessions for browsers, which must not store an API key, and of people, who have none.

pub(crate) mod begin;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
mod view;
