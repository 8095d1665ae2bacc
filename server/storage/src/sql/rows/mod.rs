//! Records as rows, where several repositories read or write them.

pub(super) mod assignment;
pub(super) mod client;
pub(super) mod population;
pub(super) mod round;
