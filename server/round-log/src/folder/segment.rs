use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use folkmoot_protocol::AssignmentId;

use crate::RoundLogError;

/// A segment file, locked while it is open.
#[derive(Debug)]
pub(crate) struct FileSegment {
    assignment: AssignmentId,
    path: PathBuf,
    file: File,
    len: u64,
    /// True if a failed append left bytes that could not be truncated yet.
    is_torn: bool,
    is_entry_synced: bool,
}

impl FileSegment {
    /// Opens the segment for appending, creates it if it is missing, and locks it.
    pub(super) fn open(path: PathBuf, assignment: AssignmentId) -> Result<Self, RoundLogError> {
        let mut options = OpenOptions::new();
        // An update is personal data: no other user of the machine may read it.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.append(true).create(true).open(&path).map_err(RoundLogError::at(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            // This file system has no locks. The caller must exclude other writers.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(RoundLogError::at(&path)(error)),
            Err(TryLockError::WouldBlock) => return Err(RoundLogError::Busy(assignment)),
        }
        let len = file.metadata().map_err(RoundLogError::at(&path))?.len();
        Ok(Self { assignment, path, file, len, is_torn: false, is_entry_synced: false })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), RoundLogError> {
        if self.is_torn {
            self.truncate(self.len)?;
        }
        if let Err(error) = self.file.write_all(bytes) {
            self.is_torn = true;
            // Return the append's error. If the truncation fails, too, the next append repeats it.
            let _ = self.truncate(self.len);
            return Err(RoundLogError::at(&self.path)(error));
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn truncate(&mut self, len: u64) -> Result<(), RoundLogError> {
        if len > self.len {
            return Err(RoundLogError::TooShort { len: self.len, wanted: len });
        }
        self.file.set_len(len).map_err(RoundLogError::at(&self.path))?;
        self.len = len;
        self.is_torn = false;
        Ok(())
    }

    /// Syncs the bytes and the folders that contain the segment's name to disk.
    pub(crate) fn sync(&mut self) -> Result<(), RoundLogError> {
        self.file.sync_data().map_err(RoundLogError::at(&self.path))?;
        if !self.is_entry_synced {
            let round_folder = self.path.parent();
            for folder in [round_folder, round_folder.and_then(Path::parent)].into_iter().flatten() {
                match sync_folder(folder) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {
                        return Err(RoundLogError::NotFound(self.assignment));
                    }
                    synced => synced.map_err(RoundLogError::at(folder))?,
                }
            }
            self.is_entry_synced = true;
        }
        Ok(())
    }
}

/// Syncs the names in a folder to disk. Windows does this automatically and cannot open folders.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
