//! Single clients. Operators see only counts of clients; admins can revoke a client by its id or by its enrolment
//! token.

pub(crate) mod get;
pub(crate) mod revoke;
pub(crate) mod view;
