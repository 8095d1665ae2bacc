use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

use super::StorageError;

/// Replaces a file atomically: after a crash, either the old or the new content is there. Only its owner can read it.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    replace(path, bytes).map_err(|error| StorageError::at(path, error))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_added_extension("new");
    let mut file = private().write(true).create(true).truncate(true).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    sync_directory(path)
}

/// Syncs the directory, without which a rename is not durable.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns options for creating a file that only its owner can read.
#[cfg(unix)]
pub(super) fn private() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
pub(super) fn private() -> OpenOptions {
    File::options()
}

/// Creates a directory that only its owner can read, unless it exists.
pub(super) fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Reads a file. Returns `None` if it does not exist.
pub(crate) fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StorageError::at(path, error)),
    }
}

/// Deletes a file if it exists.
pub(crate) fn remove_if_present(path: &Path) -> Result<(), StorageError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StorageError::at(path, error)),
        _ => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_made_is_its_owners_only() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("state").join("blobs");
        make_private(&folder).unwrap();
        let file = folder.join("one");
        for bytes in [b"first", b"other"] {
            write_private(&file, bytes).unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!([mode(&folder), mode(folder.parent().unwrap()), mode(&file)], [0o700, 0o700, 0o600]);
        }
    }
}
