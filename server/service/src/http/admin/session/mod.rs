//! Sessions: how a person's browser asks, which must not keep an API key.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
mod view;
