//! Evaluations of model versions.

pub(crate) mod list;
