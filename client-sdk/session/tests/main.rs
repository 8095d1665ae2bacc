//! The session against a simulated coordinator.
//!
//! One program for all tests, because linking a program takes longer than most tests run.

mod chaos;
mod listening;
mod story;
mod support;
mod transfer;
