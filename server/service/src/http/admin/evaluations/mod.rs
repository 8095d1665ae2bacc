//! What was measured of model versions.

pub(crate) mod list;
