//! Data folders: the files by which programs recognise whose a folder is, its lock, and the rights of its files.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

/// The file with the id of a coordinator's process. A folder that has it is a coordinator's.
pub const COORDINATOR_FILE: &str = "node-id";
/// The file that marks the folder of an edge aggregator. A coordinator would delete the updates in it.
pub const AGGREGATOR_FILE: &str = "edge-aggregator";
/// The lock file of both. Coordinators hold a shared lock on it; an edge aggregator, a recovery, a backup or a restoration holds an
/// exclusive one.
pub const LOCK_FILE: &str = "lock";

/// Makes every file that the process creates from now on readable by its owner only. Libraries create the database, its
/// journal, the blobs and the logs of updates with default permissions.
pub fn keep_files_private() {
    #[cfg(unix)]
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
}

/// Opens the lock file of a folder, and creates it if it is missing. It is not locked yet.
///
/// # Errors
/// An I/O error if it cannot be opened.
pub fn lock_file(folder: &Path) -> io::Result<File> {
    private().create(true).truncate(false).open(folder.join(LOCK_FILE))
}

/// Returns the options for creating and writing a file that only its owner can read.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
