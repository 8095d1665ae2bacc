use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A file cannot be read or written.
    #[error("{}: {error}; check that the state directory is writable and has room", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        #[source]
        error: io::Error,
    },
    /// Another client runs in the same directory.
    #[error("{}: another client uses this state directory; give each client its own directory", .0.display())]
    InUse(PathBuf),
    /// The key file does not hold a valid key.
    #[error("{}: the key is damaged; restore it from a backup, or delete it to enrol as a new client", .0.display())]
    DamagedKey(PathBuf),
    /// The app's own storage of secrets failed.
    #[error("the storage of the client's key failed: {0}")]
    Secrets(String),
}

impl StorageError {
    /// Attaches the path at which an error occurred.
    pub(crate) fn at(path: &Path, error: io::Error) -> Self {
        Self::File { path: path.into(), error }
    }
}
