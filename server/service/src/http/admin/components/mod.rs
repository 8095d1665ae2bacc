//! `/v1/admin/components`: strategies of an operator's own.

pub(crate) mod create;
