#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod error;
mod manifest;
mod prune;
mod restore;
mod save;

use std::{ffi::OsString, path::PathBuf};

use folkmoot_objects::Objects;
use serde::Serialize;

use self::manifest::Manifest;
pub use self::{error::BackupError, prune::prune, restore::restore, save::save};

/// The files of a data folder that are part of a backup: the node's id, which must be the last, and the certificates of the
/// coordinator's own authority.
const FILES: [&str; 4] = ["ca.pem", "server.key", "server.pem", "node-id"];

/// The places of a coordinator's data.
#[derive(Clone, Debug)]
pub struct Places {
    /// The data folder.
    pub data: PathBuf,
    /// The database's URL; `None` for SQLite in the data folder.
    pub database: Option<String>,
    /// The object storage's URL; `None` for the data folder.
    pub objects: Option<String>,
    /// The environment variables with the credentials of the object storage.
    pub variables: Vec<(OsString, OsString)>,
}

impl Places {
    fn open_objects(&self) -> Result<Option<Objects>, BackupError> {
        let Some(url) = &self.objects else { return Ok(None) };
        Ok(Some(Objects::open(url, self.variables.iter().cloned())?))
    }
}

/// The contents of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupSummary {
    /// The version of the program that wrote the backup.
    pub program_version: String,
    /// The time at which the backup was begun.
    pub created_at: folkmoot_protocol::Timestamp,
    /// The number of tables.
    pub tables: usize,
    /// The number of rows in all tables.
    pub rows: u64,
    /// The number of blobs.
    pub blobs: usize,
    /// The number of updates of rounds that have not ended.
    pub updates: usize,
    /// The size of all files, in bytes.
    pub bytes: u64,
}

impl BackupSummary {
    fn of(manifest: &Manifest) -> Self {
        Self {
            program_version: manifest.program_version.clone(),
            created_at: manifest.created_at,
            tables: manifest.tables.len(),
            rows: manifest.tables.iter().map(|table| table.rows).sum(),
            blobs: manifest.blobs.len(),
            updates: manifest.updates.len(),
            bytes: manifest.parts().map(|part| part.bytes).sum(),
        }
    }
}
