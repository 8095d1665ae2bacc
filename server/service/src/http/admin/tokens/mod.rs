//! Enrolment tokens, which let an app's installs become clients of a population.

pub(crate) mod clients;
pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod revoke;
pub(crate) mod revoke_clients;
pub(crate) mod view;
