//! Populations: the clients of an app, and the privacy promised to them.

pub(crate) mod clients;
pub(crate) mod list;
pub(crate) mod set_downloads;
pub(crate) mod set_privacy;
pub(crate) mod view;
