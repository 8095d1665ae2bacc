//! The collection of what nothing needs, in the background.

use std::{pin::pin, sync::Arc, time::Duration};

use folkmoot_edge::ServeError;
use folkmoot_protocol::{OrganisationId, Timestamp};
use folkmoot_rounds::{
    clock::Clock,
    collection::{CollectError, Collected, Collection, drop_old_versions},
    coordinator::Coordinator,
    drivers::DriveError,
};
use folkmoot_storage::{LeaseRepository, StorageError};
use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval_at},
};

/// The time between two collections.
const INTERVAL: Duration = Duration::from_secs(10 * 60);
/// The lease of the collection, so that one of several coordinators collects.
const LEASE: &str = "collection";

/// The error of a collection.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The versions could not be dropped.
    #[error(transparent)]
    Drop(#[from] DriveError),
    /// The blobs could not be collected.
    #[error(transparent)]
    Collect(#[from] CollectError),
}

/// Collects every ten minutes until `closed`, if no other coordinator does. `database` is the id of the database's first
/// organisation. A collection in progress is interrupted, and the next one continues it.
pub fn spawn(
    coordinator: &Arc<Coordinator>,
    clock: &Clock,
    holder: &str,
    database: OrganisationId,
    closed: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<Result<(), ServeError>> {
    tokio::spawn(run(coordinator.clone(), clock.clone(), holder.to_owned(), database, closed))
}

async fn run(
    coordinator: Arc<Coordinator>,
    clock: Clock,
    holder: String,
    database: OrganisationId,
    closed: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let mut closed = pin!(closed);
    // As early as possible, so that the coordinators of another database know it.
    if let Err(error) = coordinator.blobs.note_database(database).await {
        tracing::warn!(%error, "could not note in the store of models and weights which database uses it; the next attempt is in ten minutes");
    }
    // A coordinator that has just started has other work.
    let mut ticks = interval_at(Instant::now() + INTERVAL, INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = &mut closed => return Ok(()),
            _ = ticks.tick() => {}
        }
        tokio::select! {
            biased;
            () = &mut closed => return Ok(()),
            collected = collect(&coordinator, &holder, database, clock()) => match collected {
                Ok(_) => {}
                Err(CollectionError::Collect(error @ CollectError::Shared(_))) => {
                    tracing::warn!(%error, "unused models and weights are not deleted");
                }
                Err(error) => {
                    tracing::error!(%error, "could not delete unused models and weights; the next attempt is in ten minutes");
                }
            },
        }
    }
}

/// Drops old versions, and deletes what nothing needs. Returns `None` if another coordinator does, or a backup is in
/// progress.
///
/// # Errors
/// [`CollectionError`] if the storage or the blob store fails, or another database uses the same blobs. The next collection
/// continues.
pub async fn collect(
    coordinator: &Coordinator,
    holder: &str,
    database: OrganisationId,
    now: Timestamp,
) -> Result<Option<Collected>, CollectionError> {
    let storage = &coordinator.storage;
    let until = now.plus_milliseconds(u64::try_from(INTERVAL.as_millis()).unwrap_or(u64::MAX));
    if !storage.acquire_lease(LEASE, holder, now, until).await? {
        return Ok(None);
    }
    drop_old_versions(coordinator, now).await?;
    coordinator.blobs.note_database(database).await.map_err(CollectError::from)?;
    let collection = Collection::begin(&coordinator.blobs, database, now).await?;
    let names = storage.database()?.blob_names(collection.released_since()).await?;
    // A backup that began before the names were read may need what they lack.
    if storage.database()?.holds_blobs().await? {
        tracing::info!("unused models and weights are not deleted, because a backup is in progress");
        return Ok(None);
    }
    let collected = collection.end(&names, false).await?;
    let Collected { kept, set_aside, waiting, brought_back, freed } = collected;
    if [set_aside, brought_back, freed].iter().any(|amount| amount.blobs > 0) {
        tracing::info!(
            freed = freed.blobs,
            freed_bytes = freed.bytes,
            set_aside = set_aside.blobs,
            set_aside_bytes = set_aside.bytes,
            waiting = waiting.blobs,
            waiting_bytes = waiting.bytes,
            brought_back = brought_back.blobs,
            kept = kept.blobs,
            kept_bytes = kept.bytes,
            "deleted unused models and weights"
        );
    }
    metrics::counter!("folkmoot_blob_bytes_freed_total").increment(freed.bytes);
    Ok(Some(collected))
}
