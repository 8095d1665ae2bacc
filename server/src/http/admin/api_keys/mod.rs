//! API keys: who may use these endpoints.

pub mod create;
pub mod list;
pub mod revoke;
pub mod view;
