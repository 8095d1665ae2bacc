//! Clients, which operators see as numbers, and admins revoke by id or by the token with which they enrolled.

pub(crate) mod get;
pub(crate) mod revoke;
pub(crate) mod view;
