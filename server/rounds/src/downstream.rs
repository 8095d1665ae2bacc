//! Compressed model versions for download: a full snapshot every few versions, and deltas in between.
//!
//! The snapshots and deltas, called parts, are stored as blobs. A part is computed from the versions' exact weights by
//! the first process that needs it, and every process computes the same bytes.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use folkmoot_coordinator::task::Downstream;
use folkmoot_objects::{BlobStore, BlobStoreError};
use folkmoot_protocol::{BlobDigest, Recipe, TaskId, messages::Artifact};
use folkmoot_storage::{Storage, StorageError, TaskRecord};
use folkmoot_update::codec::{Part, encode_part};

use crate::{catalog::Catalog, refusal::Refusal};

/// The maximum number of versions whose parts are cached.
const VERSIONS_MAX: usize = 1024;
/// The maximum number of tasks whose newest reference is cached. For other tasks, the reference is recomputed from the
/// last snapshot.
const REFERENCES_MAX: usize = 8;

/// The parts of a version, the snapshot first. `None` if clients download the version as float32.
pub type Parts = Option<Arc<[Artifact]>>;

/// Computes, stores and caches the parts of versions.
#[derive(Default)]
pub struct DownstreamParts {
    made: Mutex<HashMap<(TaskId, u64), Parts>>,
    references: Mutex<VecDeque<(TaskId, Slot)>>,
}

/// A task's newest reference. The lock lets only one caller compute the reference; later callers find its result.
type Slot = Arc<tokio::sync::Mutex<Option<Reference>>>;

/// The weights that clients reconstruct from a version's parts.
#[derive(Clone)]
struct Reference {
    number: u64,
    parts: Vec<Artifact>,
    weights: Arc<Vec<f32>>,
}

/// The reason why the parts of a version could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The blob store failed.
    #[error(transparent)]
    Blob(#[from] BlobStoreError),
    /// The computation was interrupted.
    #[error("the computation was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl From<PartsError> for Refusal {
    fn from(error: PartsError) -> Self {
        match error {
            PartsError::Storage(error) => error.into(),
            PartsError::Blob(error) => error.into(),
            PartsError::Interrupted(error) => Refusal::internal(&error),
        }
    }
}

/// The sources from which versions are read.
#[derive(Clone, Copy)]
pub struct Versions<'a> {
    /// A cache of version records.
    pub catalog: &'a Catalog,
    /// The versions' records.
    pub storage: &'a Storage,
    /// The versions' weights and parts.
    pub blobs: &'a BlobStore,
}

/// Computes and stores the next version's part. The part is a snapshot if there is no earlier part, or if the last
/// snapshot and all deltas since then would together not be shorter than float32. Returns `None` if the version cannot
/// be encoded, or if its snapshot is not shorter than float32.
async fn follow(
    versions: Versions<'_>,
    task: &TaskRecord,
    downstream: Downstream,
    before: Option<Reference>,
    number: u64,
) -> Result<Option<Reference>, PartsError> {
    let version = versions.catalog.version(versions.storage, task.id, number).await?;
    let exact = versions.blobs.get(version.weights).await?;
    let schema = task.schema.clone();
    let encoded = tokio::task::spawn_blocking(move || {
        let floats = exact.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        let floats: Vec<f32> = floats.collect();
        let change = before.and_then(|Reference { parts, weights, .. }| {
            let part = encode_part(&schema, &Recipe::of(downstream.change), Some(&weights), &floats).ok()?;
            let held: u64 = parts.iter().map(|part| part.bytes).sum();
            (held + (part.bytes.len() as u64) < exact.len() as u64).then_some((parts, part))
        });
        change.or_else(|| {
            let part = encode_part(&schema, &Recipe::of(downstream.whole), None, &floats).ok()?;
            (part.bytes.len() < exact.len()).then(|| (Vec::new(), part))
        })
    });
    let Some((mut parts, Part { bytes, reference })) = encoded.await? else {
        tracing::debug!(task = %task.id, version = number, "clients download this version as float32, because its parts would not be shorter");
        return Ok(None);
    };
    let bytes = Bytes::from(bytes);
    let length = bytes.len() as u64;
    parts.push(Artifact { digest: versions.blobs.put(bytes).await?, bytes: length });
    Ok(Some(Reference { number, parts, weights: Arc::new(reference) }))
}

impl DownstreamParts {
    /// Returns the parts in which a version travels to clients that support the task's codecs; `None` if all clients
    /// get float32.
    ///
    /// The driver calls this before it assigns clients, so clients wait for parts only after a restart. A call that is
    /// cancelled keeps its finished parts for the next call.
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn of(
        &self,
        versions: Versions<'_>,
        task: &TaskRecord,
        number: u64,
    ) -> Result<Parts, PartsError> {
        let Some(downstream) = task.description.downstream else { return Ok(None) };
        if let Some(made) = self.made(task.id, number) {
            return Ok(made);
        }
        let slot = self.slot(task.id);
        let mut reference = slot.lock().await;
        if let Some(made) = self.made(task.id, number) {
            return Ok(made);
        }
        let whole = number - number % downstream.whole_every;
        if reference.as_ref().is_some_and(|one| !(whole..=number).contains(&one.number)) {
            *reference = None;
        }
        for next in reference.as_ref().map_or(whole, |one| one.number + 1)..=number {
            let before = reference.clone().filter(|_| next > whole);
            *reference = follow(versions, task, downstream, before, next).await?;
        }
        let made = reference.as_ref().map(|reference| Arc::from(reference.parts.as_slice()));
        self.keep(task.id, number, made.clone());
        Ok(made)
    }

    /// Computes and stores the parts of a version again, if the part with this digest is not stored any more: parts are
    /// not named by any row, so they are deleted when they are old.
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn again(
        &self,
        versions: Versions<'_>,
        task: &TaskRecord,
        number: u64,
        digest: BlobDigest,
    ) -> Result<(), PartsError> {
        let slot = self.slot(task.id);
        let mut reference = slot.lock().await;
        // Another client may have asked first.
        if versions.blobs.exists(digest).await? {
            return Ok(());
        }
        *reference = None;
        drop(reference);
        self.made.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _), _| *id != task.id);
        self.of(versions, task, number).await.map(|_| ())
    }

    fn made(&self, task: TaskId, number: u64) -> Option<Parts> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).get(&(task, number)).cloned()
    }

    fn slot(&self, task: TaskId) -> Slot {
        let mut all = self.references.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, slot)) = all.iter().find(|(id, _)| *id == task) {
            return slot.clone();
        }
        if all.len() >= REFERENCES_MAX {
            all.pop_front();
        }
        let slot = Slot::default();
        all.push_back((task, slot.clone()));
        slot
    }

    fn keep(&self, task: TaskId, number: u64, made: Parts) {
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= VERSIONS_MAX {
            all.clear();
        }
        all.insert((task, number), made);
    }
}
