//! Parts of updates whose upload was interrupted, so that another process can continue it.

use std::ops::Range;

use folkmoot_protocol::{AssignmentId, RoundId};
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectStoreExt, path::Path};

use super::{PIECE_BYTES, PIECE_KIB, UpdateStore, UpdateStoreError, read_piece};
use folkmoot_round_log::{LogReader, LogSegment};

impl UpdateStore {
    /// Stores the bytes `range` of an unfinished update. Does nothing if too much is being sent already, because a client
    /// can also send these bytes again.
    ///
    /// # Errors
    /// Fails if the segment cannot be read or the store fails.
    pub async fn put_parts(
        &self,
        round: RoundId,
        assignment: AssignmentId,
        mut segment: LogReader,
        range: Range<u64>,
    ) -> Result<(), UpdateStoreError> {
        let Ok(_room) = self.room.try_acquire_many(PIECE_KIB) else { return Ok(()) };
        segment.seek(range.start)?;
        let mut offset = range.start;
        while offset < range.end {
            let most = PIECE_BYTES.min(usize::try_from(range.end - offset).unwrap_or(PIECE_BYTES));
            let (part, rest) = read_piece(segment, most).await?;
            segment = rest;
            if part.is_empty() {
                break;
            }
            let length = part.len() as u64;
            let path = folder_of(round, assignment).join(format!("{offset:020}"));
            self.store.put(&path, part.into()).await?;
            offset += length;
        }
        Ok(())
    }

    /// Appends the parts of an unfinished update to its empty segment, up to the first gap.
    ///
    /// # Errors
    /// Fails if the store fails or the segment cannot be written. The segment is then empty again.
    pub async fn fetch_parts(
        &self,
        round: RoundId,
        assignment: AssignmentId,
        segment: &mut LogSegment,
    ) -> Result<(), UpdateStoreError> {
        let fetched = self.append_parts(&folder_of(round, assignment), segment).await;
        if fetched.is_err() {
            segment.truncate(0)?;
        }
        fetched
    }

    async fn append_parts(&self, folder: &Path, segment: &mut LogSegment) -> Result<(), UpdateStoreError> {
        let mut parts: Vec<_> = self.store.list(Some(folder)).try_collect().await?;
        parts.sort_by(|one, other| one.location.cmp(&other.location));
        for part in parts {
            let offset = part.location.filename().and_then(|name| name.parse::<u64>().ok());
            match offset {
                Some(offset) if offset == segment.len() => {}
                // A longer part has replaced the one before it.
                Some(offset) if offset < segment.len() => continue,
                _ => break,
            }
            let mut bytes = self.store.get(&part.location).await?.into_stream();
            while let Some(piece) = bytes.next().await {
                segment.append(&piece?)?;
            }
        }
        Ok(())
    }
}

fn folder_of(round: RoundId, assignment: AssignmentId) -> Path {
    Path::from(format!("{round}/parts/{assignment}"))
}
