//! A log of how a client used its user's data. It is for the user and stays on the device.

mod entry;
mod lines;
mod notes;

pub use entry::{LogAction, LogEntry, Note};
pub use lines::Log;
pub use notes::{note_before, note_of, note_of_step};
