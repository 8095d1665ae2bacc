//! Enrolment tokens: the right of an app's installs to become clients of a population.

pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod revoke;
pub(crate) mod view;

pub use create::{CreateTokenRequest, CreatedToken};
pub use view::TokenView;
