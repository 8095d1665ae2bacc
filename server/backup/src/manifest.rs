use std::{
    fs::File,
    io::{self, Read},
    path::{Component, Path},
};

use folkmoot_protocol::{BlobDigest, OrganisationId, Timestamp};
use folkmoot_storage::{SchemaVersion, TableSchema};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::BackupError;

/// The file that describes a backup. It is written last, so that a folder without it is incomplete.
pub const MANIFEST_FILE: &str = "manifest.json";
/// The version of the format. A program refuses all others.
const FORMAT_VERSION: u64 = 1;
/// The number of bytes of a file that are hashed at a time.
const TILE_BYTES: usize = 1 << 20;

/// The description of a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    pub format_version: u64,
    pub program_version: String,
    pub created_at: Timestamp,
    pub schema: SchemaVersion,
    /// The coordinator's first organisation, whose id names the database's updates in an object storage; `None` if no
    /// coordinator has started yet.
    pub organisation_id: Option<OrganisationId>,
    pub tables: Vec<TablePart>,
    pub blobs: Vec<Part>,
    pub updates: Vec<Part>,
    pub files: Vec<Part>,
}

/// A file of the backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The path in the backup, with `/` between its names.
    pub path: String,
    pub bytes: u64,
    pub sha256: BlobDigest,
}

/// A table, and the file with its rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TablePart {
    #[serde(flatten)]
    pub schema: TableSchema,
    pub rows: u64,
    #[serde(flatten)]
    pub part: Part,
}

/// The part of a manifest that every version has.
#[derive(Deserialize)]
struct Head {
    format_version: u64,
}

impl Manifest {
    /// Creates a manifest without parts.
    pub fn new(created_at: Timestamp, schema: SchemaVersion) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            program_version: env!("CARGO_PKG_VERSION").into(),
            created_at,
            schema,
            organisation_id: None,
            tables: Vec::new(),
            blobs: Vec::new(),
            updates: Vec::new(),
            files: Vec::new(),
        }
    }

    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        let tables = self.tables.iter().map(|table| &table.part);
        tables.chain(&self.blobs).chain(&self.updates).chain(&self.files)
    }

    /// Reads the manifest of a backup, and verifies the size and the digest of every file.
    pub fn verified(backup: &Path) -> Result<Self, BackupError> {
        let path = backup.join(MANIFEST_FILE);
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BackupError::Incomplete(backup.to_owned()));
            }
            read => read.map_err(BackupError::at(&path))?,
        };
        let wrong = |source| BackupError::Manifest { path: path.clone(), source };
        let head: Head = serde_json::from_slice(&text).map_err(wrong)?;
        if head.format_version != FORMAT_VERSION {
            return Err(BackupError::OtherFormat { found: head.format_version, known: FORMAT_VERSION });
        }
        let manifest: Self = serde_json::from_slice(&text).map_err(wrong)?;
        for part in manifest.parts() {
            let path = backup.join(&part.path);
            let is_inside =
                Path::new(&part.path).components().all(|name| matches!(name, Component::Normal(_)));
            let is_file = is_inside && path.symlink_metadata().is_ok_and(|found| found.is_file());
            if !is_file {
                return Err(BackupError::Damaged(path));
            }
            match Part::of(backup, part.path.clone()) {
                Ok(found) if found == *part => {}
                Err(BackupError::Io { source, .. }) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(BackupError::at(&path)(source));
                }
                _ => return Err(BackupError::Damaged(path)),
            }
        }
        Ok(manifest)
    }
}

impl Part {
    /// Waits until a new file of the backup is on disk, and describes it.
    pub fn synced(backup: &Path, path: String) -> Result<Self, BackupError> {
        let file = backup.join(&path);
        let opened = File::options().write(true).open(&file);
        opened.and_then(|opened| opened.sync_all()).map_err(BackupError::at(&file))?;
        Self::of(backup, path)
    }

    /// Describes a file of the backup.
    fn of(backup: &Path, path: String) -> Result<Self, BackupError> {
        let file = backup.join(&path);
        let read = || -> io::Result<(u64, Sha256)> {
            let mut opened = File::open(&file)?;
            let (mut bytes, mut hasher, mut tile) = (0, Sha256::new(), vec![0; TILE_BYTES]);
            loop {
                match opened.read(&mut tile)? {
                    0 => return Ok((bytes, hasher)),
                    count => {
                        hasher.update(&tile[..count]);
                        bytes += count as u64;
                    }
                }
            }
        };
        let (bytes, hasher) = read().map_err(BackupError::at(&file))?;
        Ok(Self { path, bytes, sha256: BlobDigest::from_bytes(hasher.finalize().into()) })
    }
}
