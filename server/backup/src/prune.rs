use folkmoot_objects::BlobStore;
use folkmoot_protocol::Timestamp;
use folkmoot_rounds::collection::{Collected, Collection};
use folkmoot_service::{
    data_folder::{self, DataFolder, sqlite_url},
    host::DEFAULT_ORGANISATION,
};
use folkmoot_storage::{DatabasePlace, DatabaseReader};

use super::{BackupError, Places, save::check_schema};

/// Deletes the blobs that no row needs, as a running coordinator does every ten minutes. Coordinators may be running. Writes
/// nothing to the database.
///
/// If `is_dry`, only says what would be deleted. If `at_once`, what is set aside is deleted at once. The coordinator must
/// then be stopped, and the database be SQLite.
///
/// # Errors
/// Fails if the places are not those of a coordinator, a backup is in progress, or data cannot be read or deleted; also if
/// `at_once` and a coordinator is running, or may be.
pub async fn prune(
    from: &Places,
    at_once: bool,
    is_dry: bool,
    now: Timestamp,
) -> Result<Collected, BackupError> {
    let url = from.database.clone().unwrap_or_else(|| sqlite_url(&from.data));
    let is_server = DatabasePlace::of(&url)? == DatabasePlace::Server;
    if from.objects.is_none() && !data_folder::is_data_folder(&from.data) {
        return Err(data_folder::DataFolderError::Missing(from.data.clone()).into());
    }
    let _lock = match (at_once, is_server) {
        (true, true) => return Err(BackupError::MayRun),
        (true, false) => Some(DataFolder::open_alone(&from.data)?),
        (false, _) => None,
    };
    let mut reader = DatabaseReader::open(&url).await?;
    check_schema(&mut reader).await?;
    let id = reader.organisation_named(DEFAULT_ORGANISATION).await?;
    let id = id.ok_or_else(|| BackupError::NoDatabase(from.data.clone()))?;
    let blobs = match from.open_objects()? {
        Some(objects) => objects.blobs(),
        None => BlobStore::local(from.data.join("blobs"))?,
    };
    let collection = Collection::begin(&blobs, id, now).await?;
    let names = reader.blob_names(collection.released_since()).await?;
    // A backup that began before the names were read may need what they lack.
    if reader.holds_blobs().await? {
        return Err(BackupError::InProgress);
    }
    reader.close().await;
    let collected = collection.end(&names, is_dry).await?;
    if !at_once || is_dry {
        return Ok(collected);
    }
    let again = Collection::begin(&blobs, id, now).await?.at_once();
    let freed = again.end(&names, false).await?.freed;
    Ok(Collected {
        set_aside: Default::default(),
        waiting: Default::default(),
        freed: collected.freed + freed,
        ..collected
    })
}
