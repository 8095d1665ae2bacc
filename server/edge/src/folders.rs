//! The files by which programs recognise whose a data folder is.

/// The file with the id of a coordinator's process. A folder that has it is a coordinator's.
pub const COORDINATOR_FILE: &str = "node-id";
/// The file that marks the folder of an edge aggregator. A coordinator would delete the updates in it.
pub const AGGREGATOR_FILE: &str = "edge-aggregator";
/// The lock file of both.
pub const LOCK_FILE: &str = "lock";
