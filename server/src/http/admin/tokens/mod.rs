//! Enrolment tokens: the right of an app's installs to become clients of a population.

pub mod create;
pub mod list;
pub mod revoke;
pub mod view;
