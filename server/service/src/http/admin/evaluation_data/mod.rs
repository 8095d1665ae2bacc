//! `/v1/admin/evaluation-data`: the operator's own examples.

pub(crate) mod create;
