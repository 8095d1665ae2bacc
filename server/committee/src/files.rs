//! Files that only their owner can read, and that are there after a crash.

#[cfg(unix)]
use std::fs::File;
use std::{fs::OpenOptions, path::Path};

use crate::MemberFileError;

/// Makes the name of a new file durable.
pub fn sync_folder(path: &Path) -> Result<(), MemberFileError> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(MemberFileError::at(folder))?;
    }
    Ok(())
}

/// Returns options to write a file that only its owner can read.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
