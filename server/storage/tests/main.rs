//! Tests every backend with the conformance suite, and tests blobs and the round log.
//!
//! All are in one program, because linking each separately would take longer than most of them run.

mod blob;
mod memory;
mod memory_as_database;
mod postgres;
mod round_log;
mod sqlite_in_memory;
mod sqlite_on_file;
