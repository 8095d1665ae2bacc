use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use folkmoot_rounds::credential::Credential;

/// The number of bytes that are read to recognise a file.
const HEAD_BYTES: u64 = 128;

/// Returns an error if the file at a path cannot be recreated.
///
/// # Errors
/// If the file holds a certificate, a key, a token or a database.
pub fn may_overwrite(path: &Path) -> io::Result<()> {
    treasure(path)
        .map_or(Ok(()), |what| Err(io::Error::other(format!("it holds {what}, so it is not overwritten"))))
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_cannot_be_had_again_is_a_treasure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let credential = Credential::from_random_bytes([1; 8], [2; 32]);
        let treasures = [
            "-----BEGIN PRIVATE KEY-----\nabc".to_owned(),
            "\n-----BEGIN CERTIFICATE-----\nabc".to_owned(),
            "SQLite format 3\0 and so on".to_owned(),
            format!("{credential}\n"),
        ];
        for content in treasures {
            fs::write(&path, &content).unwrap();
            let refused = may_overwrite(&path).unwrap_err().to_string();
            assert!(refused.contains("is not overwritten"), "{content}: {refused}");
        }
        for content in ["", "old", "-----", "0123456789abcdef.short"] {
            fs::write(&path, content).unwrap();
            assert!(may_overwrite(&path).is_ok(), "{content}");
        }
        assert!(may_overwrite(&folder.path().join("none")).is_ok());
    }
}
