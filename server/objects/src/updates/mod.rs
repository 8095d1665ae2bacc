//! Updates in an object storage that several coordinators share.

mod group;
mod part;

use std::sync::Arc;

use bytes::Bytes;
use folkmoot_protocol::{RoundId, UpdateDigest};
use futures::{StreamExt, TryStreamExt};
use object_store::{GetOptions, ObjectStore, ObjectStoreExt, WriteMultipart, path::Path};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use self::group::Groups;
use folkmoot_round_log::{LogCopy, LogReader, RoundLogError};

/// The size of the pieces of a large update, in bytes. S3 accepts no pieces below 5 MiB.
const PIECE_BYTES: usize = 8 << 20;
const PIECE_KIB: u32 = 8 << 10;
/// The maximum number of pieces of one update that are being sent.
const PIECES_MAX: usize = 2;
/// The maximum size of all updates that are being sent, in KiB.
const SENDING_KIB_MAX: usize = 256 << 10;

/// The error of an operation on stored updates.
#[derive(Debug, thiserror::Error)]
pub enum UpdateStoreError {
    /// The store failed.
    #[error("the store of updates failed: {0}")]
    Store(#[from] object_store::Error),
    /// Other updates were sent in the same object, and that failed.
    #[error("the store of updates failed: {0}")]
    Group(Arc<object_store::Error>),
    /// The process is shutting down.
    #[error("the update was not stored, because the coordinator is shutting down")]
    Closing,
    /// The stored bytes are not those of the update.
    #[error("the update in the object {0} is damaged: its bytes do not have the recorded digest")]
    Damaged(String),
    /// The local copy could not be written or read.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
}

impl UpdateStoreError {
    /// Returns whether the store does not have the update any more, so that a retry would fail again.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Damaged(_)) || self.is_missing()
    }

    /// Returns whether the object does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Store(object_store::Error::NotFound { .. }))
    }
}

/// The place of an update in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdatePlace {
    /// The process that received the update.
    pub process: String,
    /// The object's name.
    pub object: String,
    /// The offset of the update's first byte in the object.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The BLAKE3 digest of these bytes. They are the bytes of the round log, where an update's values are float32.
    pub digest: UpdateDigest,
}

/// A store of complete updates. An update is safe when it lies here, because every process can read it.
///
/// Small updates that arrive at about the same moment share one object. The objects of a round have a common prefix, so
/// that they are deleted together. A clone is another handle to the same store.
#[derive(Clone)]
pub struct UpdateStore {
    store: Arc<dyn ObjectStore>,
    process: Arc<str>,
    groups: Arc<Groups>,
    /// The KiB that may be sent in addition to the uploads in progress.
    room: Arc<Semaphore>,
}

impl UpdateStore {
    /// Opens a store. `process` names the process that writes to it; a process that starts again has another name.
    pub fn new(store: Arc<dyn ObjectStore>, process: &str) -> Self {
        Self {
            groups: Arc::new(Groups::new(store.clone())),
            store,
            process: process.into(),
            room: Arc::new(Semaphore::new(SENDING_KIB_MAX)),
        }
    }

    /// Stores a complete update that is in the log of `round`, and returns its place. When this method returns, the
    /// update is safe. Do not cancel it: pieces that were sent would stay in the store.
    ///
    /// # Errors
    /// Fails if the segment cannot be read or the store fails. The update may then be in the store, but nothing refers
    /// to it.
    pub async fn put(&self, round: RoundId, segment: LogReader) -> Result<UpdatePlace, UpdateStoreError> {
        let bytes = segment.len();
        let is_small = bytes <= group::UPDATE_BYTES_MAX;
        let held = if is_small { bytes } else { (PIECE_BYTES * PIECES_MAX) as u64 };
        let kib = u32::try_from(held.div_ceil(1024)).unwrap_or(u32::MAX);
        let _room = self.room.acquire_many(kib).await.map_err(|_| UpdateStoreError::Closing)?;
        let (object, offset, digest) = if is_small {
            let (update, _) = read_piece(segment, usize::try_from(bytes).unwrap_or(usize::MAX)).await?;
            let digest = UpdateDigest::of(&update);
            let (object, offset) = self.groups.put(round, || self.new_object(round), update).await?;
            (object, offset, digest)
        } else {
            let object = self.new_object(round);
            let digest = self.put_large(&object, segment).await?;
            (object, 0, digest)
        };
        Ok(UpdatePlace { process: self.process.to_string(), object, offset, bytes, digest })
    }

    async fn put_large(
        &self,
        object: &str,
        mut segment: LogReader,
    ) -> Result<UpdateDigest, UpdateStoreError> {
        let upload = self.store.put_multipart(&Path::from(object)).await?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PIECE_BYTES);
        let mut hasher = blake3::Hasher::new();
        let sent = async {
            loop {
                let (piece, rest) = read_piece(segment, PIECE_BYTES).await?;
                segment = rest;
                if piece.is_empty() {
                    return Ok::<_, UpdateStoreError>(());
                }
                hasher.update(&piece);
                writer.wait_for_capacity(PIECES_MAX).await?;
                writer.put(piece);
            }
        };
        match sent.await {
            Ok(()) => drop(writer.finish().await?),
            Err(error) => {
                // The store deletes the pieces by itself some day, if this fails.
                let _ = writer.abort().await;
                return Err(error);
            }
        }
        Ok(UpdateDigest::from_bytes(*hasher.finalize().as_bytes()))
    }

    /// Copies an update into a round log.
    ///
    /// # Errors
    /// [`UpdateStoreError::Damaged`] if its bytes do not have the recorded digest; also fails if the store fails or the
    /// copy cannot be written. The log is then unchanged.
    pub async fn fetch(&self, place: &UpdatePlace, mut copy: LogCopy) -> Result<(), UpdateStoreError> {
        let range = place.offset..place.offset + place.bytes;
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let found = self.store.get_opts(&Path::from(place.object.as_str()), options).await?;
        let mut bytes = found.into_stream();
        let mut hasher = blake3::Hasher::new();
        while let Some(piece) = bytes.next().await {
            let piece = piece?;
            hasher.update(&piece);
            copy.append(&piece)?;
        }
        if UpdateDigest::from_bytes(*hasher.finalize().as_bytes()) != place.digest {
            return Err(UpdateStoreError::Damaged(place.object.clone()));
        }
        Ok(copy.finish()?)
    }

    /// Lists the rounds that have objects, by id.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn rounds(&self) -> Result<Vec<RoundId>, UpdateStoreError> {
        let found = self.store.list_with_delimiter(None).await?;
        let ids = found.common_prefixes.iter().filter_map(|path| path.filename()?.parse().ok());
        Ok(ids.collect())
    }

    /// Deletes all objects of a round. Its updates must have been combined, or be needed by nobody.
    ///
    /// # Errors
    /// Fails if the store fails; the next call deletes the rest.
    pub async fn forget_round(&self, round: RoundId) -> Result<(), UpdateStoreError> {
        let prefix = Path::from(round.to_string());
        let objects = self.store.list(Some(&prefix)).map_ok(|meta| meta.location).boxed();
        let deleted = self.store.delete_stream(objects);
        deleted.try_for_each(|_| async { Ok(()) }).await.or_else(|error| match error {
            // Another process was faster.
            object_store::Error::NotFound { .. } => Ok(()),
            error => Err(error.into()),
        })
    }

    /// Returns a name that no other object has.
    fn new_object(&self, round: RoundId) -> String {
        format!("{round}/{}-{}", self.process, self.groups.next_number())
    }
}

/// Reads up to `most` bytes on a blocking thread. If it returns fewer, they are the last ones.
async fn read_piece(mut segment: LogReader, most: usize) -> Result<(Bytes, LogReader), UpdateStoreError> {
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = vec![0; most];
        let count = segment.read_tile(&mut bytes)?;
        bytes.truncate(count);
        Ok((Bytes::from(bytes), segment))
    });
    read.await.map_err(|_| UpdateStoreError::Closing)?
}
