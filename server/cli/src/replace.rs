//! Writes output files. Refuses to overwrite files that cannot be recreated, such as keys and databases.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use folkmoot_rounds::credential::Credential;

use super::CliError;

/// The number of bytes that are read to recognise a file.
const HEAD_BYTES: u64 = 128;

/// Writes a file, replacing an existing one.
///
/// # Errors
/// If the file cannot be written, or if it holds a certificate, a key, a token or a database.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), CliError> {
    check(path)?;
    fs::write(path, bytes).map_err(CliError::write(path))
}

/// Returns an error if the file at a path cannot be recreated.
///
/// # Errors
/// If the file holds a certificate, a key, a token or a database.
pub fn check(path: &Path) -> Result<(), CliError> {
    let Some(what) = treasure(path) else { return Ok(()) };
    let message = format!("{} holds {what}, so it is not overwritten", path.display());
    Err(CliError::with_remedy(message, "choose another file, or move the existing one away"))
}

/// Describes the contents of a file that cannot be recreated. Returns `None` for other files, and if there is no
/// file.
pub fn treasure(path: &Path) -> Option<&'static str> {
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)).ok()?;
    let text = String::from_utf8_lossy(&head);
    if text.trim_start().starts_with("-----BEGIN ") {
        Some("a certificate or a private key")
    } else if head.starts_with(b"SQLite format 3\0") {
        Some("a database")
    } else if text.trim().parse::<Credential>().is_ok() {
        Some("an API key or a token")
    } else {
        None
    }
}

/// The same as [`check`], with an [`io::Error`].
pub fn check_io(path: &Path) -> io::Result<()> {
    treasure(path)
        .map_or(Ok(()), |what| Err(io::Error::other(format!("it holds {what}, so it is not overwritten"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_again_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let credential = Credential::from_random_bytes([1; 8], [2; 32]);
        let treasures = [
            "-----BEGIN PRIVATE KEY-----\nabc".to_owned(),
            "\n-----BEGIN CERTIFICATE-----\nabc".to_owned(),
            "SQLite format 3\0 and so on".to_owned(),
            format!("{credential}\n"),
        ];
        for treasure in treasures {
            fs::write(&path, &treasure).unwrap();
            let refused = write(&path, "new").unwrap_err();
            assert!(refused.message.contains("is not overwritten"), "{}", refused.message);
            assert_eq!(fs::read_to_string(&path).unwrap(), treasure);
        }
        for other in ["", "old", "-----", "0123456789abcdef.short"] {
            fs::write(&path, other).unwrap();
            write(&path, "new").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        }
        assert!(write(&folder.path().join("none"), "new").is_ok());
        assert!(write(folder.path(), "new").is_err());
    }
}
