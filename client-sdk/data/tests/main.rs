//! Reads valid and broken files in every format.
//!
//! All tests are in one binary: linking each separately would take longer than most of them run.

mod agreement;
mod mutations;
mod samples;
