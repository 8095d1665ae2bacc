//! Reads files and folders within limits.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;

use crate::{DataError, Fault, Limits};

/// The first bytes of gzip data (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Returns the last part of the path.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Reads a file.
pub(crate) fn bytes(path: &Path, limits: &Limits) -> Result<Vec<u8>, DataError> {
    let limit = limits.file_bytes_max;
    let over = |found| DataError::OverLimit {
        path: path.to_owned(),
        what: "bytes",
        found,
        limit,
        setting: "file_bytes_max",
    };
    let file = File::open(path).map_err(DataError::unreadable(path))?;
    let length = file.metadata().map_err(DataError::unreadable(path))?.len();
    if length > limit {
        return Err(over(length));
    }
    let mut content = Vec::new();
    // The file may be a pipe, or may grow during reading.
    file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(DataError::unreadable(path))?;
    if content.len() as u64 > limit {
        return Err(over(content.len() as u64));
    }
    Ok(content)
}

/// Reads a file, and decompresses it if it is in gzip format.
pub(crate) fn inflated(path: &Path, limits: &Limits) -> Result<Vec<u8>, DataError> {
    let content = bytes(path, limits)?;
    if !content.starts_with(&GZIP) {
        return Ok(content);
    }
    let mut plain = Vec::new();
    let mut decoder = MultiGzDecoder::new(&content[..]).take(limits.inflated_bytes_max.saturating_add(1));
    let damaged =
        |error| DataError::invalid(path, Fault::damaged(format!("cannot be decompressed: {error}")));
    decoder.read_to_end(&mut plain).map_err(damaged)?;
    limits.expect_inflated(path, plain.len() as u64)?;
    Ok(plain)
}

/// Lists a folder, sorted by name, without hidden files.
pub(crate) fn entries(folder: &Path, limits: &Limits) -> Result<Vec<PathBuf>, DataError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(DataError::unreadable(folder))? {
        let path = entry.map_err(DataError::unreadable(folder))?.path();
        if name(&path).starts_with('.') {
            continue;
        }
        paths.push(path);
        let (found, limit) = (paths.len() as u64, limits.entries_max);
        if found > limit {
            let (what, setting) = ("files", "entries_max");
            return Err(DataError::OverLimit { path: folder.to_owned(), what, found, limit, setting });
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns the path itself if it is a file. If it is a folder, returns the files in it whose names satisfy the
/// condition.
pub(crate) fn wanted(
    path: &Path,
    limits: &Limits,
    kind: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<PathBuf>, DataError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = entries(path, limits)?;
    files.retain(|file| file.is_file() && is_wanted(&name(file)));
    if files.is_empty() {
        let fault = Fault::new(format!("the folder has no {kind}"), "choose a folder that has at least one");
        return Err(DataError::invalid(path, fault));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    #[test]
    fn a_file_over_a_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("zeros.gz");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&[0; 100_000]).unwrap();
        fs::write(&path, encoder.finish().unwrap()).unwrap();
        assert_eq!(inflated(&path, &Limits::default()).unwrap(), [0; 100_000]);
        let small = Limits { inflated_bytes_max: 99_999, ..Limits::default() };
        let message = inflated(&path, &small).unwrap_err().to_string();
        assert!(message.contains("100000 bytes after decompression"), "{message}");
        let small = Limits { file_bytes_max: 10, ..Limits::default() };
        let message = inflated(&path, &small).unwrap_err().to_string();
        assert!(message.contains("limit of 10") && message.contains("file_bytes_max"), "{message}");
    }

    #[test]
    fn a_folder_is_sorted_and_limited() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", ".hidden"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<String> =
            entries(folder.path(), &Limits::default()).unwrap().iter().map(|path| name(path)).collect();
        assert_eq!(names, ["a", "b"]);
        let small = Limits { entries_max: 1, ..Limits::default() };
        assert!(entries(folder.path(), &small).unwrap_err().to_string().contains("2 files"));
    }
}
