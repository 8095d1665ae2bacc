//! Whether there is room for what clients send.

use std::path::Path;

/// Bytes that must be left on the disk of the data folder: below that an update may not fit, and a commit may fail.
const FREE_BYTES_MIN: u64 = 64 << 20;

/// Says why nothing can be kept in `folder`, if so.
///
/// # Errors
/// A sentence for operators.
pub fn check_room(folder: &Path) -> Result<(), String> {
    let free = free_bytes(folder).map_err(|error| format!("the data folder cannot be used: {error}"))?;
    enough(free)
}

fn enough(free: Option<u64>) -> Result<(), String> {
    match free {
        Some(free) if free < FREE_BYTES_MIN => Err(format!(
            "the disk of the data folder has {} MiB left, and {} are needed: make room on it",
            free >> 20,
            FREE_BYTES_MIN >> 20
        )),
        _ => Ok(()),
    }
}

/// Returns what this process may still write there; none where the system does not say.
#[cfg(unix)]
#[allow(clippy::useless_conversion, reason = "the types differ between systems")]
fn free_bytes(folder: &Path) -> nix::Result<Option<u64>> {
    let disk = nix::sys::statvfs::statvfs(folder)?;
    let (blocks, block_bytes) = (u64::from(disk.blocks_available()), u64::from(disk.fragment_size()));
    Ok(Some(blocks.saturating_mul(block_bytes)))
}

#[cfg(not(unix))]
fn free_bytes(folder: &Path) -> std::io::Result<Option<u64>> {
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
        assert!(free_bytes(folder.path()).is_ok());
        assert!(check_room(&folder.path().join("gone")).is_err());
    }
}
