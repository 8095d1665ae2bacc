use std::io::{self, ErrorKind, Read};

use super::{RoundLogError, folder::FileReader, memory::MemoryReader};

/// Reads a segment from its beginning, tile by tile. In a folder, every call blocks on the disk.
#[derive(Debug)]
pub struct LogReader {
    place: Place,
}

/// The backend that holds the bytes.
#[derive(Debug)]
enum Place {
    File(FileReader),
    Memory(MemoryReader),
}

impl LogReader {
    /// Returns the length in bytes that the segment had when it was opened.
    pub fn len(&self) -> u64 {
        match &self.place {
            Place::File(file) => file.len(),
            Place::Memory(memory) => memory.len(),
        }
    }

    /// Returns whether the segment was empty when it was opened.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Seeks to byte `offset` of the segment.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn seek(&mut self, offset: u64) -> Result<(), RoundLogError> {
        match &mut self.place {
            Place::File(file) => file.seek(offset),
            Place::Memory(memory) => {
                memory.seek(offset);
                Ok(())
            }
        }
    }

    /// Fills `tile` with the next bytes and returns their number. The number is less than the length of `tile` only at
    /// the end of the segment; after the last byte it is 0.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn read_tile(&mut self, tile: &mut [u8]) -> Result<usize, RoundLogError> {
        match &mut self.place {
            Place::File(file) => fill(tile, |rest| file.read(rest)).map_err(file.failed()),
            Place::Memory(memory) => Ok(memory.read(tile)),
        }
    }
}

/// Reads until `tile` is full or the input ends, and returns the number of bytes.
fn fill(tile: &mut [u8], mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
    let mut filled = 0;
    while filled < tile.len() {
        match read(&mut tile[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl Read for LogReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.place {
            Place::File(file) => file.read(buffer),
            Place::Memory(memory) => Ok(memory.read(buffer)),
        }
    }
}

impl From<FileReader> for LogReader {
    fn from(file: FileReader) -> Self {
        Self { place: Place::File(file) }
    }
}

impl From<MemoryReader> for LogReader {
    fn from(memory: MemoryReader) -> Self {
        Self { place: Place::Memory(memory) }
    }
}
