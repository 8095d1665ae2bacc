//! Conversions between records and rows that several repositories share.

pub(super) mod assignment;
pub(super) mod client;
pub(super) mod population;
pub(super) mod round;
