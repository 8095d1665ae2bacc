//! The round log: the bytes of every update, one append-only segment an assignment.

mod error;
mod folder;
mod reader;
mod segment;

pub use error::RoundLogError;
pub use folder::RoundLog;
pub use reader::LogReader;
pub use segment::LogSegment;
