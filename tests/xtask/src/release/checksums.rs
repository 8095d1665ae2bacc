use crate::process::{output, succeeds};
use crate::workspace::{Failure, failure, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes the SHA-256 digests of the files, in the format that `sha256sum --check` reads.
pub fn make(folder: &Path, files: &[PathBuf]) -> Result<PathBuf, Failure> {
    let names = files.iter().filter_map(|file| file.file_name());
    let mut digest = match succeeds(Command::new("sha256sum").arg("--version")) {
        true => Command::new("sha256sum"),
        // macOS has no sha256sum.
        false => {
            let mut digest = Command::new("shasum");
            digest.args(["--algorithm", "256"]);
            digest
        }
    };
    let lines = output(digest.args(names).current_dir(folder))?;
    let path = folder.join("SHA256SUMS");
    write(&path, lines)?;
    path.canonicalize().map_err(|error| failure(&path, &error))
}
