//! Shared parts of the tests that cover several packages: a coordinator process that can be killed, clients that send
//! exactly what a test wants, and an oracle for the expected model versions.

pub mod bad_network;
pub mod balancer;
pub mod client_process;
pub mod cluster;
pub mod coordinator_process;
pub mod deployment;
pub mod halt;
pub mod keys;
pub mod log;
pub mod oracle;
pub mod patience;
pub mod raw;
pub mod raw_client;
pub mod task;
pub mod test_s3;
pub mod update;
pub mod verify;
