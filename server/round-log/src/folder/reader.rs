use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
};

use crate::RoundLogError;

/// A reader of a segment file.
#[derive(Debug)]
pub(crate) struct FileReader {
    path: PathBuf,
    file: File,
    len: u64,
}

impl FileReader {
    pub(super) fn new(path: PathBuf, file: File) -> Result<Self, RoundLogError> {
        let len = file.metadata().map_err(RoundLogError::at(&path))?.len();
        Ok(Self { path, file, len })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn seek(&mut self, offset: u64) -> Result<(), RoundLogError> {
        self.file.seek(SeekFrom::Start(offset)).map(|_| ()).map_err(self.failed())
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }

    /// Adds the segment's path to an I/O error.
    pub(crate) fn failed(&self) -> impl FnOnce(io::Error) -> RoundLogError + use<> {
        RoundLogError::at(&self.path)
    }
}
