//! `/v1/admin/components`: strategies that operators upload.

pub(crate) mod create;
