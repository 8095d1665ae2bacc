//! API keys for the administrative endpoints.

pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod revoke;
pub(crate) mod view;
