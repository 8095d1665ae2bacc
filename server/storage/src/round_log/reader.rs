use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    path::PathBuf,
};

use super::RoundLogError;

/// Reads a segment from its beginning, tile by tile. Every call blocks on the disk.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    file: File,
    len: u64,
}

impl LogReader {
    pub(super) fn new(path: PathBuf, file: File) -> Result<Self, RoundLogError> {
        let len = file.metadata().map_err(RoundLogError::at(&path))?.len();
        Ok(Self { path, file, len })
    }

    /// Returns the number of bytes that the segment had when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Says whether the segment was empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Goes to byte `offset` of the segment.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn seek(&mut self, offset: u64) -> Result<(), RoundLogError> {
        self.file.seek(SeekFrom::Start(offset)).map(|_| ()).map_err(RoundLogError::at(&self.path))
    }

    /// Fills `tile` with the next bytes and returns how many came: fewer only at the end, 0 after it.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn read_tile(&mut self, tile: &mut [u8]) -> Result<usize, RoundLogError> {
        let mut filled = 0;
        while filled < tile.len() {
            match self.file.read(&mut tile[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(RoundLogError::at(&self.path)(error)),
            }
        }
        Ok(filled)
    }
}

impl Read for LogReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}
