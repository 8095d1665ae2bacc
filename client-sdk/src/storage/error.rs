use std::{
    io,
    path::{Path, PathBuf},
};

/// A state directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A file cannot be read or written.
    #[error("{}: {error}; check that the state directory is writable and has room", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Another client runs in the same directory.
    #[error("{}: another client uses this state directory; give each its own", .0.display())]
    InUse(PathBuf),
    /// The key's file is not a key.
    #[error("{}: the key is damaged; restore it, or delete it to become a new client", .0.display())]
    DamagedKey(PathBuf),
    /// The app's own storage of secrets failed.
    #[error("the storage of the client's key failed: {0}")]
    Secrets(String),
}

impl StorageError {
    /// Says at which file something failed.
    pub(crate) fn at(path: &Path, error: io::Error) -> Self {
        Self::File { path: path.into(), error }
    }
}
