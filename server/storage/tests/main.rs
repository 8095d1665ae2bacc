//! Every backend against the conformance suite, blobs, and the round log.
//!
//! One program for all of them: each links everything below it, which takes longer than most of them run.

mod blob;
mod memory;
mod memory_as_database;
mod postgres;
mod round_log;
mod sqlite_in_memory;
mod sqlite_on_file;
