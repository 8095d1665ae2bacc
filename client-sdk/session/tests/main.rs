//! The session against a simulated coordinator.
//!
//! One program for all of them: each links everything below it, which takes longer than most of them run.

mod chaos;
mod listening;
mod story;
mod support;
mod transfer;
