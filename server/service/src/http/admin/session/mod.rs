//! Sessions for browsers, which must not store an API key, and of people, who have none; and the caller of a request.

pub(crate) mod begin;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod me;
pub(super) mod view;
