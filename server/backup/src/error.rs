use std::{
    io,
    path::{Path, PathBuf},
};

use folkmoot_objects::{BlobStoreError, ObjectsError, UpdateStoreError};
use folkmoot_round_log::RoundLogError;
use folkmoot_rounds::collection::CollectError;
use folkmoot_storage::StorageError;

use folkmoot_service::data_folder::DataFolderError;

/// The reason why a backup cannot be written or restored, or unused blobs cannot be deleted.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum BackupError {
    #[error(transparent)]
    Folder(#[from] DataFolderError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Blobs(#[from] BlobStoreError),
    #[error(transparent)]
    Objects(#[from] ObjectsError),
    #[error(transparent)]
    Updates(#[from] UpdateStoreError),
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    #[error("{path} cannot be read or written: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{0} exists already, so nothing was written")]
    Exists(PathBuf),
    #[error("{0} has no database")]
    NoDatabase(PathBuf),
    #[error("the database has not the schema of this program: {0}")]
    OtherSchema(String),
    #[error("{0} is missing")]
    Missing(String),
    #[error("{0} has no manifest.json, so it is not a complete backup")]
    Incomplete(PathBuf),
    #[error("{path} is not the manifest of a backup: {source}")]
    Manifest { path: PathBuf, source: serde_json::Error },
    #[error("the backup has the format version {found}, and this program reads version {known}")]
    OtherFormat { found: u64, known: u64 },
    #[error("the backup is damaged: {0} differs from the manifest")]
    Damaged(PathBuf),
    #[error(
        "the backup has the database schema {found}, written by folkmoot {program}, and this program has {known}"
    )]
    OtherMigrations { found: i64, known: i64, program: String },
    #[error("a backup is in progress, so nothing was deleted")]
    InProgress,
    #[error("coordinators that use the PostgreSQL database may be running, so nothing was deleted at once")]
    MayRun,
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error("the database is not empty: the table {0} has rows")]
    NotEmpty(String),
    #[error("the tables of the backup are not those of the database: {0} differs")]
    OtherTables(String),
}

impl BackupError {
    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path: path.clone(), source }
    }

    /// Returns what the operator can do about the error, unless the message says it.
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::Exists(_) => "choose a folder that does not exist",
            Self::NoDatabase(_) => "name the database with --database, or the right data folder with --data",
            Self::OtherSchema(_) => {
                "use the version of folkmoot that runs the coordinator, or start and stop the coordinator once with this \
                 version, which changes the schema"
            }
            Self::Missing(_) => {
                "if coordinators are running, run the command again or stop them first; otherwise check --data and \
                 storage.objects with `folkmoot doctor`"
            }
            Self::Incomplete(_) | Self::Manifest { .. } => "name the folder of a complete backup with --from",
            Self::OtherFormat { .. } => "restore the backup with the version of folkmoot that wrote it",
            Self::Damaged(_) => "copy the backup again from where it is stored, or use another one",
            Self::OtherMigrations { found, known, program } if found < known => {
                return Some(format!(
                    "restore the backup with folkmoot {program}, then start this version, which changes the schema"
                ));
            }
            Self::OtherMigrations { program, .. } => {
                return Some(format!("restore the backup with folkmoot {program}"));
            }
            Self::InProgress => "run the command again when the backup has ended",
            Self::MayRun => "leave out --at-once: what is set aside is deleted an hour later",
            Self::NotEmpty(_) => "create a new, empty database",
            Self::OtherTables(_) => "restore the backup into an empty database that no other program uses",
            _ => return None,
        };
        Some(remedy.to_owned())
    }
}
