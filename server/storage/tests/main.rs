//! Runs the conformance suite on every backend.
//!
//! All tests are in one program, because linking several programs would take longer than running most of the tests.

mod conformance;
// Lints let `unwrap` pass only in such modules.
#[cfg(test)]
mod database_reader;
mod memory;
mod memory_as_database;
mod postgres;
mod sqlite_in_memory;
mod sqlite_on_file;
#[cfg(test)]
mod tables;
