use folkmoot_protocol::Timestamp;
use sqlx::AnyPool;

use super::{Dialect, SqlStorage, column::moment};
use crate::StorageError;

/// Nonces of signed requests that every process on one database knows of.
#[derive(Clone, Debug)]
pub struct SharedNonces {
    pool: AnyPool,
}

impl SqlStorage {
    /// Returns the nonces that processes share, where there may be several: on PostgreSQL. A data folder with its SQLite
    /// file belongs to one process, whose memory is enough.
    pub fn shared_nonces(&self) -> Option<SharedNonces> {
        (self.dialect == Dialect::Postgres).then(|| SharedNonces { pool: self.writer.clone() })
    }
}

impl SharedNonces {
    /// Takes `part`, a part of a nonce's hash, for `sender`; `false` if a process took it before.
    ///
    /// One statement, one row, no wait for the disk.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer: then nothing may be believed.
    pub async fn take(&self, sender: [u8; 16], part: u64, now: Timestamp) -> Result<bool, StorageError> {
        const INSERT: &str =
            "INSERT INTO nonces (sender, part, taken_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let query = sqlx::query(INSERT).bind(sender.to_vec()).bind(part.cast_signed()).bind(moment(now)?);
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Forgets what was taken before `earliest`, and returns how many nonces that were.
    ///
    /// # Errors
    /// [`StorageError::Database`].
    pub async fn forget_before(&self, earliest: Timestamp) -> Result<u64, StorageError> {
        let query = sqlx::query("DELETE FROM nonces WHERE taken_at < $1").bind(moment(earliest)?);
        Ok(query.execute(&self.pool).await?.rows_affected())
    }
}
