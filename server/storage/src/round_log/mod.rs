//! The round log: the bytes of every update, in one append-only segment per assignment.

mod copy;
mod error;
mod folder;
mod log;
mod memory;
mod reader;
mod segment;

pub use copy::LogCopy;
pub use error::RoundLogError;
pub use log::RoundLog;
pub use reader::LogReader;
pub use segment::LogSegment;
