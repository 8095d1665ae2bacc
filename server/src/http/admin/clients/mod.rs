//! Clients, which operators see as numbers, and revoke by id.

pub(crate) mod revoke;
