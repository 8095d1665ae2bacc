//! Populations: whose clients can take part, and what is promised them.

pub(crate) mod clients;
pub(crate) mod list;
pub(crate) mod set_privacy;
mod view;
