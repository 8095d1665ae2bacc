use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use folkmoot_protocol::AssignmentId;

use super::RoundLogError;

/// The bytes of one update, as they arrive.
///
/// There is one handle to a segment at a time; another [`super::RoundLog::open`] gets
/// [`RoundLogError::Busy`] until this one is dropped. Every call blocks on the disk.
#[derive(Debug)]
pub struct LogSegment {
    assignment: AssignmentId,
    path: PathBuf,
    file: File,
    len: u64,
    /// An append failed midway, and what it left could not be cut off yet.
    is_torn: bool,
    is_entry_synced: bool,
}

impl LogSegment {
    /// Opens the segment at its end, makes it if it is missing, and locks it.
    pub(super) fn open(path: PathBuf, assignment: AssignmentId) -> Result<Self, RoundLogError> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).open(&path).map_err(RoundLogError::at(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            // A file system without locks: the caller's own exclusion must do.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(RoundLogError::at(&path)(error)),
            Err(TryLockError::WouldBlock) => return Err(RoundLogError::Busy(assignment)),
        }
        let len = file.metadata().map_err(RoundLogError::at(&path))?.len();
        Ok(Self { assignment, path, file, len, is_torn: false, is_entry_synced: false })
    }

    /// Returns the number of bytes: after a crash, where the upload goes on.
    ///
    /// Bytes that were not synced before a power failure may be missing from it, never be wrong in number;
    /// the digest of the whole update tells whether they are the right ones.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Says whether nothing has arrived yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds bytes at the end. If that fails, the segment ends where it ended before.
    ///
    /// # Errors
    /// [`RoundLogError::Io`], for example when the disk is full.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), RoundLogError> {
        if self.is_torn {
            self.truncate(self.len)?;
        }
        if let Err(error) = self.file.write_all(bytes) {
            self.is_torn = true;
            // The first error says what happened; if the cut fails too, the next append makes it.
            let _ = self.truncate(self.len);
            return Err(RoundLogError::at(&self.path)(error));
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Cuts the segment to `len` bytes.
    ///
    /// # Errors
    /// [`RoundLogError::TooShort`] if it holds fewer.
    pub fn truncate(&mut self, len: u64) -> Result<(), RoundLogError> {
        if len > self.len {
            return Err(RoundLogError::TooShort { len: self.len, wanted: len });
        }
        self.file.set_len(len).map_err(RoundLogError::at(&self.path))?;
        self.len = len;
        self.is_torn = false;
        Ok(())
    }

    /// Returns when the bytes are on the disk, and the segment's name in its folders too.
    ///
    /// # Errors
    /// [`RoundLogError::NotFound`] if the segment was removed, with its round, since it was opened;
    /// [`RoundLogError::Io`] if the disk fails. The bytes must then be taken as lost.
    pub fn sync(&mut self) -> Result<(), RoundLogError> {
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

/// Makes the names in a folder durable. Windows does that by itself and cannot open a folder.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
