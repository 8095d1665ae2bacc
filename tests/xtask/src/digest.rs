//! SHA-256 digests of files.

use crate::process::{output, succeeds};
use crate::workspace::Failure;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Returns a line for each file of the folder: its SHA-256 digest in hexadecimal, two spaces, and its name.
///
/// # Errors
/// Fails if a file cannot be read, or if no program for digests is present.
pub fn sha256(folder: &Path, names: impl IntoIterator<Item: AsRef<OsStr>>) -> Result<String, Failure> {
    let mut digest = match succeeds(Command::new("sha256sum").arg("--version")) {
        true => Command::new("sha256sum"),
        // macOS has no sha256sum.
        false => {
            let mut digest = Command::new("shasum");
            digest.args(["--algorithm", "256"]);
            digest
        }
    };
    output(digest.args(names).current_dir(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{target, write};

    #[test]
    fn a_line_has_the_digest_and_the_name() {
        let folder = target().join("tmp/digest");
        write(&folder.join("abc.txt"), "abc").unwrap();
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&folder, ["abc.txt"]).unwrap(), format!("{digest}  abc.txt\n"));
        assert!(sha256(&folder, ["missing.txt"]).is_err());
    }
}
