//! The `folkmoot` program, started as a process.
//!
//! One program for all of them: each links everything below it, which takes longer than most of them run.

mod asking;
// What the system says of a missing file is another sentence elsewhere.
#[cfg(unix)]
mod commands;
mod demo;
mod documents;
mod engine;
#[cfg(unix)]
mod operator;
mod private;
mod sampled;
mod simulate;
mod traffic;
