//! Loops that advance tasks and rounds. Each step reads facts, asks the pure code, and writes one transaction;
//! it may be repeated, and a crash between two steps loses nothing.

mod aggregate;
mod run;
mod task;

pub use run::{DriverConfig, run};
pub use task::{DriveError, drive_task};
