//! Checks whether the disk has room for uploads.

use std::{io, path::Path};

/// The free space, in bytes, that the data folder's disk must have. With less, an update may not fit and a commit may
/// fail.
const FREE_BYTES_MIN: u64 = 64 << 20;

/// Checks that the disk of `folder` has room.
///
/// # Errors
/// Returns a sentence for operators if the free space is below 64 MiB or cannot be determined.
pub fn check_room(folder: &Path) -> Result<(), String> {
    let space = space(folder)
        .map_err(|error| format!("the free space of the data folder cannot be determined: {error}"))?;
    enough(space.map(|space| space.free_bytes))
}

/// The space on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The number of bytes that this process may still write.
    pub free_bytes: u64,
    /// The size of the disk in bytes.
    pub total_bytes: u64,
}

fn enough(free: Option<u64>) -> Result<(), String> {
    match free {
        Some(free) if free < FREE_BYTES_MIN => Err(format!(
            "the data folder's disk has {} MiB left; at least {} MiB are needed. Free some space on this disk",
            free >> 20,
            FREE_BYTES_MIN >> 20
        )),
        _ => Ok(()),
    }
}

/// Returns the space on the disk of `folder`; `None` if the system does not report it.
///
/// # Errors
/// An I/O error if the folder does not exist or cannot be accessed.
#[cfg(unix)]
#[allow(clippy::useless_conversion, reason = "the types differ between systems")]
pub fn space(folder: &Path) -> io::Result<Option<Space>> {
    let disk = nix::sys::statvfs::statvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(u64::from(disk.fragment_size()));
    let (free, total) = (u64::from(disk.blocks_available()), u64::from(disk.blocks()));
    Ok(Some(Space { free_bytes: bytes(free), total_bytes: bytes(total) }))
}

/// Returns `None`, because the system does not report the space.
///
/// # Errors
/// An I/O error if the folder does not exist or cannot be accessed.
#[cfg(not(unix))]
pub fn space(folder: &Path) -> io::Result<Option<Space>> {
    std::fs::metadata(folder).map(|_| None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_nearly_full_is_told_of() {
        assert_eq!(enough(None), Ok(()));
        assert_eq!(enough(Some(FREE_BYTES_MIN)), Ok(()));
        let full = enough(Some(FREE_BYTES_MIN - 1)).unwrap_err();
        assert!(full.contains("63 MiB left"), "{full}");
    }

    #[test]
    fn a_folder_that_is_gone_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        assert!(space(folder.path()).is_ok());
        assert!(check_room(&folder.path().join("gone")).is_err());
    }
}
