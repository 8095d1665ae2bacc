//! Files with one line of JSON for each entry of a log.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use super::{CliError, replace};

/// Calls `visit` with every line that is not blank, in file order. A longer line than `line_bytes_max` is passed on in
/// pieces.
///
/// # Errors
/// If the file cannot be read, or `visit` fails. Errors of `visit` name the line.
pub fn read(
    path: &Path,
    line_bytes_max: u64,
    mut visit: impl FnMut(&[u8]) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut reader = BufReader::new(File::open(path).map_err(CliError::read(path))?);
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let bytes = (&mut reader).take(line_bytes_max).read_until(b'\n', &mut line);
        if bytes.map_err(CliError::read(path))? == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        visit(&line).map_err(|error| CliError {
            message: format!("{} line {number}: {}", path.display(), error.message),
            ..error
        })?;
    }
    Ok(())
}

/// A file that is written to `PATH.partial` first and renamed at the end, because a partial log would look like a shorter
/// one.
pub struct NewFile {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
}

impl NewFile {
    /// Creates the partial file.
    ///
    /// # Errors
    /// If it cannot be created, or one of the two files must not be replaced.
    pub fn create(path: &Path) -> Result<Self, CliError> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        replace::check(path)?;
        replace::check(&partial)?;
        let file = BufWriter::new(File::create(&partial).map_err(CliError::write(&partial))?);
        Ok(Self { path: path.to_owned(), partial, file })
    }

    /// Appends a line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn line(&mut self, line: &str) -> Result<(), CliError> {
        writeln!(self.file, "{line}").map_err(CliError::write(&self.partial))
    }

    /// Renames the complete file.
    ///
    /// # Errors
    /// If it cannot be written or renamed.
    pub fn finish(mut self) -> Result<(), CliError> {
        self.file.flush().map_err(CliError::write(&self.partial))?;
        fs::rename(&self.partial, &self.path).map_err(CliError::write(&self.path))
    }
}
