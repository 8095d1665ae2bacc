//! Writes output files. Refuses to overwrite files that cannot be recreated, such as keys and databases.

use std::{fs, path::Path};

use folkmoot_terminal::treasure;

use super::CliError;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_again_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let treasure = "-----BEGIN PRIVATE KEY-----\nabc";
        fs::write(&path, treasure).unwrap();
        let refused = write(&path, "new").unwrap_err();
        assert!(refused.message.contains("is not overwritten"), "{}", refused.message);
        assert_eq!(fs::read_to_string(&path).unwrap(), treasure);
        fs::write(&path, "old").unwrap();
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(write(&folder.path().join("none"), "new").is_ok());
        assert!(write(folder.path(), "new").is_err());
    }
}
