use std::path::PathBuf;

use super::{read_if_present, write_private};

/// The file of an amount that is counted per day, or no file for an amount that is in memory only.
#[derive(Debug)]
pub(crate) struct DayFile(Option<PathBuf>);

impl DayFile {
    pub fn at(path: PathBuf) -> Self {
        Self(Some(path))
    }

    pub fn nowhere() -> Self {
        Self(None)
    }

    /// Returns the stored bytes. A file that is missing or unreadable is treated as empty.
    pub fn read(&self) -> Vec<u8> {
        let stored = self.0.as_deref().map(read_if_present);
        stored.and_then(Result::ok).flatten().unwrap_or_default()
    }

    /// Replaces the stored bytes, if there are new ones. If that fails, the client logs a warning and continues.
    pub fn write(&self, bytes: Option<Vec<u8>>) {
        let (Some(path), Some(bytes)) = (&self.0, bytes) else { return };
        if let Err(error) = write_private(path, &bytes) {
            tracing::warn!(%error, "could not store the day's usage; it is counted from zero after a restart");
        }
    }
}
