//! Versions in few bytes: every so many versions a whole one, and between them what each changes.
//!
//! Nothing of it is stored but the parts, as blobs: they follow from the versions' exact weights, so that whoever needs
//! them first makes them, and makes the same bytes as every other.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use folkmoot_coordinator::task::Downstream;
use folkmoot_protocol::{Recipe, TaskId, messages::Artifact};
use folkmoot_storage::{BlobStore, BlobStoreError, Storage, StorageError, TaskRecord};
use folkmoot_update::codec::{Part, encode_part};

use crate::{catalog::Catalog, refusal::Refusal};

/// Versions whose parts are kept in mind, at most.
const VERSIONS_MAX: usize = 1024;
/// Tasks whose newest reference is kept, at most; of others it is made again from their last whole version.
const REFERENCES_MAX: usize = 8;

/// The parts of a version, the whole one first; none where it travels as float32.
pub type Parts = Option<Arc<[Artifact]>>;

/// What was made of the versions.
#[derive(Default)]
pub struct DownstreamParts {
    made: Mutex<HashMap<(TaskId, u64), Parts>>,
    references: Mutex<VecDeque<(TaskId, Slot)>>,
}

/// One task's newest reference, which one at a time goes on from: who comes second finds what the first has made.
type Slot = Arc<tokio::sync::Mutex<Option<Reference>>>;

/// What clients have of a version.
#[derive(Clone)]
struct Reference {
    number: u64,
    parts: Vec<Artifact>,
    weights: Arc<Vec<f32>>,
}

/// Why there are no parts.
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

/// Where versions are found.
#[derive(Clone, Copy)]
pub struct Versions<'a> {
    /// Versions that were read before.
    pub catalog: &'a Catalog,
    /// Their records.
    pub storage: &'a Storage,
    /// Their weights, and the parts.
    pub blobs: &'a BlobStore,
}

/// Makes the next version's part, and stores it: a whole one where there is none before, or where all parts together would be
/// no less than float32. None if it cannot be encoded, or is no shorter alone.
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
        tracing::debug!(task = %task.id, version = number, "the version travels as float32: its parts would be no shorter");
        return Ok(None);
    };
    let bytes = Bytes::from(bytes);
    let length = bytes.len() as u64;
    parts.push(Artifact { digest: versions.blobs.put(bytes).await?, bytes: length });
    Ok(Some(Reference { number, parts, weights: Arc::new(reference) }))
}

impl DownstreamParts {
    /// Returns the parts in which a version of a task travels to the clients that know its codecs; none where it travels as
    /// float32 to all.
    ///
    /// The driver asks before it assigns, so that no client waits for parts to be made but after a restart. Who is dropped
    /// in between leaves what is made.
    ///
    /// # Errors
    /// If the storage fails.
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
