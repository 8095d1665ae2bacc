use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::Path,
};

use folkmoot_objects::{BlobStore, Objects, UpdateStore};
use folkmoot_protocol::{AssignmentId, RoundId};
use folkmoot_round_log::RoundLog;
use folkmoot_storage::{DatabasePlace, DatabaseReader, SqlStorage, TableSchema, TableValue, TableWriter};
use futures::{StreamExt, TryStreamExt, stream};

use super::{
    BackupError, BackupSummary, FILES, Places,
    manifest::{Manifest, TablePart},
    save::copy_segment,
};
use folkmoot_service::data_folder::{DataFolder, write_new};

/// The maximum number of rows that are inserted by one statement.
const ROWS_MAX: usize = 500;
/// The maximum number of values that are inserted by one statement. SQLite allows 32,766.
const VALUES_MAX: usize = 16_000;
/// The maximum number of updates that are stored at the same time.
const PUTS_MAX: usize = 8;
/// The table whose rows tell where updates lie.
const UPDATES_TABLE: &str = "client_updates";
/// The table of the questions to edge aggregators, and of their answers.
const SUMS_TABLE: &str = "partial_sums";

/// The places of restored updates in the object storage, as JSON, by assignment.
type UpdatePlaces = BTreeMap<String, String>;

/// Restores a backup into an empty data folder, an empty database and, if there is one, an object storage. `process` is a
/// name that no process has used for updates in this storage.
///
/// # Errors
/// Fails if the backup is damaged or of another version, if the folder or the database is not empty, or if data cannot be
/// written. The data folder is then empty, and the database has no rows.
pub async fn restore(backup: &Path, to: &Places, process: &str) -> Result<BackupSummary, BackupError> {
    let manifest = Manifest::verified(backup)?;
    let known = manifest.schema.of_this_program();
    if manifest.schema != known {
        let (found, known) = (manifest.schema.newest, known.newest);
        return Err(BackupError::OtherMigrations { found, known, program: manifest.program_version });
    }
    let folder = DataFolder::create_alone(&to.data)?;
    let restored = Box::pin(fill(backup, &manifest, to, &folder, process)).await;
    if restored.is_err() {
        // The first error is the more useful one.
        let _ = folder.clear();
    }
    restored.map(|()| BackupSummary::of(&manifest))
}

async fn fill(
    backup: &Path,
    manifest: &Manifest,
    to: &Places,
    folder: &DataFolder,
    process: &str,
) -> Result<(), BackupError> {
    let url = to.database.clone().unwrap_or_else(|| folder.sqlite_url());
    check_empty(&url).await?;
    let storage = SqlStorage::connect(&url, Default::default()).await?;
    let filled = Box::pin(fill_all(backup, manifest, to, &storage, process)).await;
    storage.close().await;
    filled
}

async fn fill_all(
    backup: &Path,
    manifest: &Manifest,
    to: &Places,
    storage: &SqlStorage,
    process: &str,
) -> Result<(), BackupError> {
    let objects = to.open_objects()?;
    put_blobs(backup, manifest, to, objects.as_ref()).await?;
    let updates = updates_of(backup, manifest)?;
    let places = match (&objects, manifest.organisation_id) {
        (Some(objects), Some(id)) => {
            put_updates(&updates, backup, &objects.updates(&id.to_string(), process)).await?
        }
        _ => {
            copy_updates(&updates, backup, &to.data)?;
            UpdatePlaces::new()
        }
    };
    let mut writer = storage.table_writer().await?;
    insert_all(backup, manifest, &mut writer, &places).await?;
    let (last, first) = FILES.split_last().expect("there are files");
    first.iter().try_for_each(|name| copy_file(backup, manifest, to, name))?;
    writer.commit().await?;
    // With its id, the folder is one of a coordinator.
    copy_file(backup, manifest, to, last)
}

fn copy_file(backup: &Path, manifest: &Manifest, to: &Places, name: &str) -> Result<(), BackupError> {
    let path = format!("files/{name}");
    if !manifest.files.iter().any(|part| part.path == path) {
        return Ok(());
    }
    let from = backup.join(path);
    let bytes = fs::read(&from).map_err(BackupError::at(&from))?;
    write_new(&to.data.join(name), &bytes).map_err(BackupError::at(&to.data.join(name)))
}

/// Checks that a database that exists has no rows. Changes nothing, not even its schema.
async fn check_empty(url: &str) -> Result<(), BackupError> {
    if let DatabasePlace::File(file) = DatabasePlace::of(url)?
        && !file.exists()
    {
        return Ok(());
    }
    let mut reader = DatabaseReader::open(url).await?;
    for table in reader.tables().await? {
        if reader.has_rows(&table).await? {
            return Err(BackupError::NotEmpty(table.name));
        }
    }
    reader.close().await;
    Ok(())
}

async fn put_blobs(
    backup: &Path,
    manifest: &Manifest,
    to: &Places,
    objects: Option<&Objects>,
) -> Result<(), BackupError> {
    let blobs = match objects {
        Some(objects) => objects.blobs(),
        None => BlobStore::local(to.data.join("blobs"))?,
    };
    let blobs = blobs.with_cache_bytes_max(0);
    for part in &manifest.blobs {
        let path = backup.join(&part.path);
        blobs.put(fs::read(&path).map_err(BackupError::at(&path))?.into()).await?;
    }
    Ok(())
}

/// Returns the rounds and assignments of the updates in a backup.
fn updates_of(backup: &Path, manifest: &Manifest) -> Result<Vec<(RoundId, AssignmentId)>, BackupError> {
    let ids = |path: &str| {
        let (round, id) = path.strip_prefix("updates/")?.strip_suffix(".update")?.split_once('/')?;
        Some((round.parse().ok()?, id.parse().ok()?))
    };
    let updates = manifest
        .updates
        .iter()
        .map(|part| ids(&part.path).ok_or_else(|| BackupError::Damaged(backup.join(&part.path))));
    updates.collect()
}

/// Copies updates into the round log of the data folder.
fn copy_updates(updates: &[(RoundId, AssignmentId)], backup: &Path, data: &Path) -> Result<(), BackupError> {
    let (copies, log) = (RoundLog::local(backup.join("updates"))?, RoundLog::local(data.join("round-log"))?);
    for (round, id) in updates {
        copy_segment(copies.read(*round, *id)?, log.copy(*round, *id)?)?;
        log.open(*round, *id)?.sync()?;
    }
    Ok(())
}

/// Stores updates in the object storage, where every process finds them.
async fn put_updates(
    updates: &[(RoundId, AssignmentId)],
    backup: &Path,
    store: &UpdateStore,
) -> Result<UpdatePlaces, BackupError> {
    let copies = RoundLog::local(backup.join("updates"))?;
    let puts = updates.iter().map(|(round, id)| {
        let reader = copies.read(*round, *id);
        async move {
            let place = store.put(*round, reader?).await?;
            let place = serde_json::to_string(&place).expect("a place is plain data");
            Ok::<_, BackupError>((id.to_string(), place))
        }
    });
    stream::iter(puts.collect::<Vec<_>>()).buffer_unordered(PUTS_MAX).try_collect().await
}

async fn insert_all(
    backup: &Path,
    manifest: &Manifest,
    writer: &mut TableWriter,
    places: &UpdatePlaces,
) -> Result<(), BackupError> {
    let parts: BTreeMap<&str, &TablePart> =
        manifest.tables.iter().map(|table| (table.schema.name.as_str(), table)).collect();
    let tables = writer.tables().await?;
    if let Some(name) = parts.keys().find(|name| tables.iter().all(|table| table.name != **name)) {
        return Err(BackupError::OtherTables((*name).to_owned()));
    }
    for table in tables {
        match parts.get(table.name.as_str()) {
            Some(part) if part.schema == table => {
                insert(&backup.join(&part.part.path), &table, writer, places).await?;
            }
            _ => return Err(BackupError::OtherTables(table.name)),
        }
    }
    Ok(())
}

async fn insert(
    path: &Path,
    table: &TableSchema,
    writer: &mut TableWriter,
    places: &UpdatePlaces,
) -> Result<(), BackupError> {
    let file = BufReader::new(File::open(path).map_err(BackupError::at(path))?);
    let rows_max = (VALUES_MAX / table.columns.len().max(1)).clamp(1, ROWS_MAX);
    let mut rows = Vec::new();
    for line in file.split(b'\n') {
        let line = line.map_err(BackupError::at(path))?;
        let mut row: Vec<TableValue> =
            serde_json::from_slice(&line).map_err(|_| BackupError::Damaged(path.to_owned()))?;
        match table.name.as_str() {
            UPDATES_TABLE => set_place(&mut row, table, places)?,
            // The sums of edge aggregators are not in a backup. They are asked again.
            SUMS_TABLE => continue,
            _ => {}
        }
        rows.push(row);
        if rows.len() == rows_max {
            writer.insert(table, &std::mem::take(&mut rows)).await?;
        }
    }
    if !rows.is_empty() {
        writer.insert(table, &rows).await?;
    }
    Ok(())
}

/// Replaces the place of an update by its new one. The updates of ended rounds have no place any more.
fn set_place(row: &mut [TableValue], table: &TableSchema, places: &UpdatePlaces) -> Result<(), BackupError> {
    let position = |name: &str| table.columns.iter().position(|column| column.name == name);
    let (Some(id), Some(place)) = (position("assignment_id"), position("place")) else {
        return Err(BackupError::OtherTables(table.name.clone()));
    };
    let new = match row.get(id) {
        Some(TableValue::Text(id)) => places.get(id).cloned(),
        _ => None,
    };
    if let Some(value) = row.get_mut(place) {
        *value = new.map_or(TableValue::Null, TableValue::Text);
    }
    Ok(())
}
