use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

use folkmoot_objects::{BlobStore, BlobStoreError, UpdateStore};
use folkmoot_protocol::{BlobDigest, Timestamp};
use folkmoot_round_log::{LogCopy, LogReader, RoundLog, RoundLogError};
use folkmoot_storage::{DatabasePlace, DatabaseReader, OpenUpdate, TableSchema, TableValue};

use super::{
    BackupError, BackupSummary, FILES, Places,
    manifest::{MANIFEST_FILE, Manifest, Part, TablePart},
};
use folkmoot_edge::folders::keep_files_private;
use folkmoot_service::{
    data_folder::{self, DataFolder, is_data_folder},
    host::DEFAULT_ORGANISATION,
};

/// The maximum number of attempts, if running coordinators delete data that is being copied.
const ATTEMPTS_MAX: u32 = 3;
/// The number of digits of a digest.
const DIGEST_DIGITS: usize = 64;
/// The number of bytes of an update that are copied at a time.
const TILE_BYTES: usize = 1 << 20;

/// Writes a backup of a coordinator into a new folder.
///
/// With PostgreSQL, coordinators may be running: all rows are of one moment. If a round ends while its updates are being
/// copied, the backup begins again, at most three times. With SQLite, the coordinator must be stopped.
///
/// # Errors
/// Fails if a coordinator is running on the SQLite file, if the output exists, or if data cannot be read or written. The
/// output is then removed.
pub async fn save(from: &Places, output: &Path, now: Timestamp) -> Result<BackupSummary, BackupError> {
    if output.exists() {
        return Err(BackupError::Exists(output.to_owned()));
    }
    let (url, lock) = open_source(from)?;
    keep_files_private();
    let attempts = if lock.is_some() { 1 } else { ATTEMPTS_MAX };
    let mut attempt = 1;
    loop {
        fs::create_dir(output).map_err(BackupError::at(output))?;
        let saved = Box::pin(copy(from, &url, output, now)).await;
        if saved.is_err() {
            // The first error is the more useful one.
            let _ = fs::remove_dir_all(output);
        }
        match saved {
            Err(BackupError::Missing(_)) if attempt < attempts => attempt += 1,
            saved => return saved,
        }
    }
}

/// Returns the database's URL, and the locked data folder if the database is a SQLite file.
fn open_source(from: &Places) -> Result<(String, Option<DataFolder>), BackupError> {
    if let Some(url) = &from.database
        && DatabasePlace::of(url)? == DatabasePlace::Server
    {
        if from.objects.is_none() && !is_data_folder(&from.data) {
            return Err(data_folder::DataFolderError::Missing(from.data.clone()).into());
        }
        return Ok((url.clone(), None));
    }
    let lock = DataFolder::open_alone(&from.data)?;
    match &from.database {
        Some(url) => Ok((url.clone(), Some(lock))),
        None if lock.has_sqlite() => Ok((lock.sqlite_url(), Some(lock))),
        None => Err(BackupError::NoDatabase(from.data.clone())),
    }
}

async fn copy(from: &Places, url: &str, output: &Path, now: Timestamp) -> Result<BackupSummary, BackupError> {
    let mut reader = DatabaseReader::open(url).await?;
    check_schema(&mut reader).await?;
    reader.hold_blobs().await?;
    reader.begin_snapshot().await?;
    let mut manifest = Manifest::new(now, reader.schema_version());
    manifest.organisation_id = reader.organisation_named(DEFAULT_ORGANISATION).await?;
    // Running coordinators delete updates when a round ends, so they are copied first.
    manifest.updates = copy_updates(from, &mut reader, &manifest, output).await?;
    let objects = from.open_objects()?;
    let blobs = match &objects {
        Some(objects) => objects.blobs(),
        None => BlobStore::local(from.data.join("blobs"))?,
    };
    let blobs = blobs.with_cache_bytes_max(0);
    // A blob is stored before a row names it. Blobs that no row names are left out: nothing would ever delete them.
    let mut named = BTreeMap::new();
    // A blob that was set aside may have been named since.
    let inventory = blobs.inventory().await?;
    let aside = inventory.aside.iter().map(|blob| blob.digest);
    for digest in inventory.stored.iter().map(|blob| blob.digest).chain(aside) {
        named.insert(digest, false);
    }
    for digest in reader.newest_blobs(u32::MAX).await? {
        if !named.contains_key(&digest) {
            return Err(BackupError::Missing(format!("the blob {digest}")));
        }
    }
    for table in reader.tables().await? {
        manifest.tables.push(copy_table(&mut reader, table, output, &mut named).await?);
    }
    reader.close().await;
    for (digest, _) in named.into_iter().filter(|(_, is_named)| *is_named) {
        manifest.blobs.push(copy_blob(&blobs, digest, output).await?);
    }
    for name in FILES.into_iter().filter(|name| from.data.join(name).is_file()) {
        let path = from.data.join(name);
        let bytes = fs::read(&path).map_err(BackupError::at(&path))?;
        manifest.files.push(write_part(output, format!("files/{name}"), &bytes)?);
    }
    let text = serde_json::to_vec_pretty(&manifest).expect("a manifest is plain data");
    write_part(output, MANIFEST_FILE.into(), &text)?;
    Ok(BackupSummary::of(&manifest))
}

pub(super) async fn check_schema(reader: &mut DatabaseReader) -> Result<(), BackupError> {
    let state = reader.migrations().await?;
    let differences = [
        ("pending", &state.pending),
        ("unknown", &state.unknown),
        ("changed", &state.changed),
        ("unfinished", &state.unfinished),
    ];
    let shown = differences.iter().filter(|(_, migrations)| !migrations.is_empty());
    let shown: Vec<String> =
        shown.map(|(name, migrations)| format!("{name} migrations {migrations:?}")).collect();
    match shown.is_empty() {
        true => Ok(()),
        false => Err(BackupError::OtherSchema(shown.join(", "))),
    }
}

async fn copy_updates(
    from: &Places,
    reader: &mut DatabaseReader,
    manifest: &Manifest,
    output: &Path,
) -> Result<Vec<Part>, BackupError> {
    let copies = RoundLog::local(output.join("updates"))?;
    let folder = from.data.join("round-log");
    let log = if folder.is_dir() { Some(RoundLog::local(folder)?) } else { None };
    let store = match (from.open_objects()?, manifest.organisation_id) {
        (Some(objects), Some(id)) => Some(objects.updates(&id.to_string(), "backup")),
        _ => None,
    };
    let mut parts = Vec::new();
    for update in reader.open_updates().await? {
        let (round, id) = (update.round_id, update.assignment_id);
        if !copy_update(&update, log.as_ref(), store.as_ref(), copies.copy(round, id)?).await? {
            return Err(BackupError::Missing(format!("the update of assignment {id} in round {round}")));
        }
        parts.push(Part::synced(output, format!("updates/{round}/{id}.update"))?);
    }
    Ok(parts)
}

/// Copies an update from the place that its row names. Returns `false` if it is not there.
async fn copy_update(
    update: &OpenUpdate,
    log: Option<&RoundLog>,
    store: Option<&UpdateStore>,
    copy: LogCopy,
) -> Result<bool, BackupError> {
    if let Some(place) = &update.place {
        let Some(store) = store else { return Ok(false) };
        return match store.fetch(place, copy).await {
            Ok(()) => Ok(true),
            Err(error) if error.is_missing() => Ok(false),
            Err(error) => Err(error.into()),
        };
    }
    let Some(log) = log else { return Ok(false) };
    match log.read(update.round_id, update.assignment_id) {
        Ok(reader) => copy_segment(reader, copy).map(|()| true),
        Err(RoundLogError::NotFound(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Copies a segment of a round log.
pub(super) fn copy_segment(mut reader: LogReader, mut copy: LogCopy) -> Result<(), BackupError> {
    let mut tile = vec![0; TILE_BYTES];
    loop {
        match reader.read_tile(&mut tile)? {
            0 => return Ok(copy.finish()?),
            count => copy.append(&tile[..count])?,
        }
    }
}

/// Writes the rows of a table, and notes which blobs they name.
async fn copy_table(
    reader: &mut DatabaseReader,
    schema: TableSchema,
    output: &Path,
    named: &mut BTreeMap<BlobDigest, bool>,
) -> Result<TablePart, BackupError> {
    let path = format!("tables/{}.jsonl", schema.name);
    let mut file = BufWriter::new(create(output, &path)?);
    let failed = BackupError::at(&output.join(&path));
    let mut rows = 0;
    let visited = reader.rows(&schema, |row| {
        for value in &row {
            note_blobs(value, named);
        }
        let mut line = serde_json::to_vec(&row).expect("values are plain data");
        line.push(b'\n');
        rows += 1;
        file.write_all(&line).map_err(&failed)
    });
    visited.await?;
    file.flush().map_err(&failed)?;
    Ok(TablePart { schema, rows, part: Part::synced(output, path)? })
}

/// Notes the blobs whose digests are in the text. Some are in JSON.
fn note_blobs(value: &TableValue, named: &mut BTreeMap<BlobDigest, bool>) {
    let TableValue::Text(text) = value else { return };
    let words = text.split(|letter: char| !letter.is_ascii_hexdigit());
    for digest in words.filter(|word| word.len() == DIGEST_DIGITS).filter_map(|word| word.parse().ok()) {
        if let Some(is_named) = named.get_mut(&digest) {
            *is_named = true;
        }
    }
}

async fn copy_blob(blobs: &BlobStore, digest: BlobDigest, output: &Path) -> Result<Part, BackupError> {
    let bytes = blobs.get(digest).await.map_err(|error| match error {
        BlobStoreError::NotFound(digest) => BackupError::Missing(format!("the blob {digest}")),
        error => error.into(),
    })?;
    let digits = digest.to_string();
    write_part(output, format!("blobs/{}/{digits}", &digits[..2]), &bytes)
}

fn write_part(output: &Path, path: String, bytes: &[u8]) -> Result<Part, BackupError> {
    create(output, &path)?.write_all(bytes).map_err(BackupError::at(&output.join(&path)))?;
    Part::synced(output, path)
}

fn create(output: &Path, path: &str) -> Result<File, BackupError> {
    let path = output.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(BackupError::at(folder))?;
    }
    File::create_new(&path).map_err(BackupError::at(&path))
}
