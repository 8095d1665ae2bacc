//! The round log: the bytes of every update, one append-only segment an assignment.

mod error;
mod folder;
mod log;
mod memory;
mod reader;
mod segment;

pub use error::RoundLogError;
pub use log::RoundLog;
pub use reader::LogReader;
pub use segment::LogSegment;
