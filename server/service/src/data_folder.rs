//! The data folder. Only its owner can read it. Coordinators use it, or one other program that needs exclusive access,
//! such as a recovery, but never both at once.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use folkmoot_client::{PrivateFolder, private_folder};
use folkmoot_edge::folders::{
    self, AGGREGATOR_FILE, COORDINATOR_FILE, LOCK_FILE, keep_files_private, private,
};
use rand::Rng;

/// The prefix of the file that stores the first API key.
const FIRST_KEY_FILE: &str = "first-api-key";
/// The SQLite database file.
const DATABASE_FILE: &str = "folkmoot.db";

/// A data folder in use.
pub struct DataFolder {
    path: PathBuf,
    _lock: File,
}

/// The reason why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataFolderError {
    /// An operation on a file or folder failed.
    #[error("the data folder cannot be used: {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A recovery, backup or restoration is running on the folder.
    #[error(
        "the data folder {0} is being recovered, saved or restored; start the coordinator again when \
         `folkmoot key recover`, `folkmoot backup` or `folkmoot restore` has finished"
    )]
    IsRecovered(PathBuf),
    /// The folder belongs to an edge aggregator.
    #[error(
        "{0} is the data folder of an edge aggregator, and a coordinator would delete its updates; name another folder with --data, \
         or add --role aggregator"
    )]
    IsAggregators(PathBuf),
    /// The folder has files, and it should be empty.
    #[error("{0} is not empty; name a new folder with --data")]
    NotEmpty(PathBuf),
    /// A coordinator is running on the folder.
    #[error("a coordinator is running on the data folder {0}; stop the coordinator first")]
    IsServed(PathBuf),
    /// The folder is missing, or does not belong to a coordinator.
    #[error("{0} is not the data folder of a coordinator; name the right folder with --data")]
    Missing(PathBuf),
}

impl DataFolder {
    /// Opens the folder for a coordinator, and creates it if it does not exist. Several coordinators may share it.
    ///
    /// From this call on, every file that the process creates is readable by its owner only.
    ///
    /// # Errors
    /// Fails if the folder cannot be created or used, or is being recovered.
    pub fn open(path: &Path) -> Result<Self, DataFolderError> {
        keep_files_private();
        if path.join(AGGREGATOR_FILE).exists() {
            return Err(DataFolderError::IsAggregators(path.to_owned()));
        }
        match private_folder(path, COORDINATOR_FILE).map_err(at(path))? {
            PrivateFolder::Private => {}
            PrivateFolder::Mended(paths) => tracing::warn!(
                folder = %path.display(), changed = paths.len(),
                "other users could read the data folder or files in it; the permissions were corrected so that only the owner can"
            ),
            PrivateFolder::Shared => tracing::warn!(
                folder = %path.display(),
                "other users can read the data folder; its mode was not changed because it also holds other files. Give the \
                 coordinator a folder of its own, or remove the rights of others (chmod 700)"
            ),
        }
        let lock = lock_file(path)?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => return Err(DataFolderError::IsRecovered(path.to_owned())),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(at(path)(error));
            }
            _ => {}
        }
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Opens a coordinator's folder exclusively, while no coordinator is running on it.
    ///
    /// # Errors
    /// Fails if `path` is not a coordinator's data folder, if a coordinator is running on it, or if the lock file
    /// cannot be opened.
    pub fn open_alone(path: &Path) -> Result<Self, DataFolderError> {
        if !is_data_folder(path) {
            return Err(DataFolderError::Missing(path.to_owned()));
        }
        let lock = lock_file(path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DataFolderError::IsServed(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(at(path)(error)),
        }
    }

    /// Opens an empty folder exclusively, to fill it with the data of a coordinator. Creates the folder if it does not
    /// exist. From this call on, every file that the process creates is readable by its owner only.
    ///
    /// # Errors
    /// Fails if the folder has files, or cannot be created or locked.
    pub fn create_alone(path: &Path) -> Result<Self, DataFolderError> {
        keep_files_private();
        if path.exists() && !contents(path).map_err(at(path))?.is_empty() {
            return Err(DataFolderError::NotEmpty(path.to_owned()));
        }
        private_folder(path, COORDINATOR_FILE).map_err(at(path))?;
        let lock = lock_file(path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DataFolderError::IsServed(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(at(path)(error)),
        }
    }

    /// Deletes everything in the folder.
    ///
    /// # Errors
    /// Fails if a file or folder cannot be deleted.
    pub fn clear(self) -> Result<(), DataFolderError> {
        for path in contents(&self.path).map_err(at(&self.path))? {
            let deleted = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            deleted.map_err(at(&path))?;
        }
        let lock = self.path.join(LOCK_FILE);
        fs::remove_file(&lock).map_err(at(&lock))
    }

    /// Returns the URL of the SQLite file in the folder.
    pub fn sqlite_url(&self) -> String {
        sqlite_url(&self.path)
    }

    /// Returns whether the SQLite file exists.
    pub fn has_sqlite(&self) -> bool {
        self.path.join(DATABASE_FILE).is_file()
    }

    /// Returns this node's id, which identifies the holder of its leases. It is stable across restarts.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written.
    pub fn node_id(&self, chance: &mut impl Rng) -> Result<String, DataFolderError> {
        let path = self.path.join(COORDINATOR_FILE);
        if path.exists() {
            return fs::read_to_string(&path).map(|text| text.trim().to_owned()).map_err(at(&path));
        }
        let mut bytes = [0; 8];
        chance.fill_bytes(&mut bytes);
        let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        write_new(&path, &name).map_err(at(&path))?;
        Ok(name)
    }

    /// Writes the first API key to a file that only its owner can read, and returns the file's path. If a file of an
    /// earlier key exists, writes a new file with the key's id in its name.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn keep_first_key(&self, id: &str, key: &str) -> Result<PathBuf, DataFolderError> {
        let text = format!("{key}\n");
        let path = self.path.join(FIRST_KEY_FILE);
        match write_new(&path, &text) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let path = path.with_added_extension(id);
                write_new(&path, &text).map_err(at(&path))?;
                Ok(path)
            }
            written => written.map(|()| path.clone()).map_err(at(&path)),
        }
    }
}

/// The programs that use a data folder now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderUse {
    /// No program uses the folder.
    Free,
    /// At least one coordinator is running on the folder.
    Served,
    /// A recovery, backup or restoration is running on the folder.
    Recovered,
}

/// Returns the programs that use a data folder; `None` if its disk does not support locks. Creates nothing, and keeps no
/// lock.
///
/// # Errors
/// Fails if the lock file exists but cannot be opened.
pub fn use_of(path: &Path) -> Result<Option<FolderUse>, DataFolderError> {
    let file = path.join(LOCK_FILE);
    let lock = match fs::OpenOptions::new().write(true).open(&file) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(FolderUse::Free)),
        Err(error) => return Err(at(&file)(error)),
    };
    match lock.try_lock() {
        Ok(()) => Ok(Some(FolderUse::Free)),
        Err(TryLockError::WouldBlock) => match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Ok(Some(FolderUse::Recovered)),
            _ => Ok(Some(FolderUse::Served)),
        },
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(TryLockError::Error(error)) => Err(at(&file)(error)),
    }
}

/// Returns whether a coordinator has used the folder before.
pub fn is_data_folder(path: &Path) -> bool {
    path.join(COORDINATOR_FILE).is_file()
}

/// Returns the URL of the SQLite file in a data folder.
pub fn sqlite_url(folder: &Path) -> String {
    format!("sqlite://{}?mode=rwc", folder.join(DATABASE_FILE).display())
}

fn lock_file(folder: &Path) -> Result<File, DataFolderError> {
    folders::lock_file(folder).map_err(at(&folder.join(LOCK_FILE)))
}

/// Lists the paths in a folder, except for the lock.
fn contents(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    paths.filter(|path| path.as_ref().map_or(true, |path| *path != folder.join(LOCK_FILE))).collect()
}

/// Writes a new file that only its owner can read.
///
/// # Errors
/// Fails if the file exists or cannot be written.
pub fn write_new(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    private().create_new(true).open(path)?.write_all(content.as_ref())
}

fn at(path: &Path) -> impl Fn(io::Error) -> DataFolderError + use<> {
    let path = path.to_owned();
    move |source| DataFolderError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    #[test]
    fn a_folder_is_served_or_recovered_never_both() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("data");
        assert!(matches!(DataFolder::open_alone(&path), Err(DataFolderError::Missing(_))));
        assert_eq!(use_of(&path).unwrap(), Some(FolderUse::Free));
        assert!(!path.exists(), "to look at a folder creates nothing");
        let first = DataFolder::open(&path).unwrap();
        first.node_id(&mut ChaCha20Rng::seed_from_u64(1)).unwrap();
        let second = DataFolder::open(&path).unwrap();
        assert!(matches!(DataFolder::open_alone(&path), Err(DataFolderError::IsServed(_))));
        assert_eq!(use_of(&path).unwrap(), Some(FolderUse::Served));
        drop((first, second));
        let alone = DataFolder::open_alone(&path).unwrap();
        assert!(matches!(DataFolder::open(&path), Err(DataFolderError::IsRecovered(_))));
        assert_eq!(use_of(&path).unwrap(), Some(FolderUse::Recovered));
        drop(alone);
        assert_eq!(use_of(&path).unwrap(), Some(FolderUse::Free));
        assert!(DataFolder::open(&path).is_ok());
    }

    #[test]
    fn a_first_key_takes_no_other_keys_place() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(&scratch.path().join("data")).unwrap();
        let first = folder.keep_first_key("a1", "a1.secret").unwrap();
        let second = folder.keep_first_key("b2", "b2.secret").unwrap();
        assert_eq!(fs::read_to_string(&first).unwrap(), "a1.secret\n");
        assert_eq!(fs::read_to_string(&second).unwrap(), "b2.secret\n");
        #[cfg(unix)]
        for path in [first, second] {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
