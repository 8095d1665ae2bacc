//! Shared pieces of the tests that need more than one room: a coordinator in a process of its own that can be
//! killed, clients that say exactly what a test wants, and an oracle for what must come of it.

pub mod bad_network;
pub mod client_process;
pub mod coordinator_process;
pub mod deployment;
pub mod halt;
pub mod log;
pub mod oracle;
pub mod patience;
pub mod raw;
pub mod raw_client;
pub mod task;
pub mod update;
pub mod verify;
