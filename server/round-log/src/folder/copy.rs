use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use crate::RoundLogError;

/// A file that becomes a segment when it is complete. It is deleted if it is dropped before.
#[derive(Debug)]
pub(crate) struct FileCopy {
    file: File,
    partial: PathBuf,
    segment: PathBuf,
    is_finished: bool,
}

impl FileCopy {
    /// Creates the file `partial`. A file that a killed process left there is overwritten.
    pub(super) fn create(partial: PathBuf, segment: PathBuf) -> Result<Self, RoundLogError> {
        let mut options = OpenOptions::new();
        // An update is personal data: no other user of the machine may read it.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let opened = options.write(true).create(true).truncate(true).open(&partial);
        let file = opened.map_err(RoundLogError::at(&partial))?;
        Ok(Self { file, partial, segment, is_finished: false })
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), RoundLogError> {
        self.file.write_all(bytes).map_err(RoundLogError::at(&self.partial))
    }

    pub(crate) fn finish(mut self) -> Result<(), RoundLogError> {
        fs::rename(&self.partial, &self.segment).map_err(RoundLogError::at(&self.segment))?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for FileCopy {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = fs::remove_file(&self.partial);
            // The removal fails if the round has other files.
            let _ = self.partial.parent().map(Path::to_owned).map(fs::remove_dir);
        }
    }
}
