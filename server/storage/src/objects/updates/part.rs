//! Parts of updates whose upload was interrupted, so that another process can continue it.

use bytes::Bytes;
use folkmoot_protocol::{AssignmentId, RoundId};
use futures::TryStreamExt;
use object_store::{ObjectStoreExt, path::Path};

use super::{UpdateStore, UpdateStoreError};
use crate::LogCopy;

impl UpdateStore {
    /// Stores the bytes of an unfinished update that begin at `offset`.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn put_part(
        &self,
        round: RoundId,
        assignment: AssignmentId,
        offset: u64,
        bytes: Bytes,
    ) -> Result<(), UpdateStoreError> {
        let path = folder_of(round, assignment).join(format!("{offset:020}"));
        self.store.put(&path, bytes.into()).await?;
        Ok(())
    }

    /// Copies the parts of an unfinished update into a round log, up to the first gap. Returns the number of bytes; if it
    /// is 0, the log is unchanged.
    ///
    /// # Errors
    /// Fails if the store fails or the copy cannot be written. The log is then unchanged.
    pub async fn fetch_parts(
        &self,
        round: RoundId,
        assignment: AssignmentId,
        mut copy: LogCopy,
    ) -> Result<u64, UpdateStoreError> {
        let folder = folder_of(round, assignment);
        let mut parts: Vec<_> = self.store.list(Some(&folder)).try_collect().await?;
        parts.sort_by(|one, other| one.location.cmp(&other.location));
        let mut bytes = 0;
        for part in parts {
            let offset = part.location.filename().and_then(|name| name.parse::<u64>().ok());
            if offset != Some(bytes) {
                break;
            }
            let part = self.store.get(&part.location).await?.bytes().await?;
            copy.append(&part)?;
            bytes += part.len() as u64;
        }
        if bytes > 0 {
            copy.finish()?;
        }
        Ok(bytes)
    }
}

fn folder_of(round: RoundId, assignment: AssignmentId) -> Path {
    Path::from(format!("{round}/parts/{assignment}"))
}
