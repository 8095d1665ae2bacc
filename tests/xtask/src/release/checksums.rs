use crate::digest::sha256;
use crate::workspace::{Failure, failure, write};
use std::path::{Path, PathBuf};

/// Writes the SHA-256 digests of the files, in the format that `sha256sum --check` reads.
pub fn make(folder: &Path, files: &[PathBuf]) -> Result<PathBuf, Failure> {
    let names = files.iter().filter_map(|file| file.file_name());
    let path = folder.join("SHA256SUMS");
    write(&path, sha256(folder, names)?)?;
    path.canonicalize().map_err(|error| failure(&path, &error))
}
