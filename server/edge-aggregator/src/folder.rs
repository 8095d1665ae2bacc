//! The data folder of an aggregator. One aggregator uses it at a time, and no coordinator does.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use folkmoot_client::{PrivateFolder, private_folder};
use folkmoot_edge::folders::{self, AGGREGATOR_FILE, COORDINATOR_FILE, keep_files_private};

/// A data folder in use.
pub struct Folder {
    _lock: File,
}

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file or folder failed.
    #[error("the data folder {} cannot be used: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The folder belongs to a coordinator.
    #[error("{} is the data folder of a coordinator; give the aggregator a folder of its own with --data", .0.display())]
    IsCoordinators(PathBuf),
    /// Another aggregator is running on the folder.
    #[error("an edge aggregator is running on the data folder {}; stop it first, or name another folder with --data", .0.display())]
    IsUsed(PathBuf),
}

impl Folder {
    /// Opens the folder, and creates it if it does not exist. From this call on, every file that the process creates is readable
    /// by its owner only: updates are in the clear.
    ///
    /// # Errors
    /// [`FolderError`] if it cannot be used, or somebody else uses it.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        keep_files_private();
        let at = |source| FolderError::Io { path: path.to_owned(), source };
        if path.join(COORDINATOR_FILE).exists() {
            return Err(FolderError::IsCoordinators(path.to_owned()));
        }
        if private_folder(path, AGGREGATOR_FILE).map_err(at)? == PrivateFolder::Shared {
            tracing::warn!(
                folder = %path.display(),
                "other users can read the data folder; its mode was not changed because it also holds other files. Give the \
                 aggregator a folder of its own, or remove the rights of others (chmod 700)"
            );
        }
        let lock = folders::lock_file(path).map_err(at)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(FolderError::IsUsed(path.to_owned())),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(at(error));
            }
            _ => {}
        }
        fs::write(path.join(AGGREGATOR_FILE), "The updates of open rounds are in round-log.\n")
            .map_err(at)?;
        Ok(Self { _lock: lock })
    }
}
