use folkmoot_protocol::Timestamp;
use sqlx::AnyPool;

use super::{Dialect, SqlStorage, column::moment};
use crate::StorageError;

/// The nonces of signed requests, shared by all processes that use one database.
#[derive(Clone, Debug)]
pub struct SharedNonces {
    pool: AnyPool,
}

impl SqlStorage {
    /// Returns the shared nonces of a PostgreSQL database, which several processes may use. Returns `None` for SQLite:
    /// only one process uses its data folder, so its memory is sufficient.
    pub fn shared_nonces(&self) -> Option<SharedNonces> {
        (self.dialect == Dialect::Postgres).then(|| SharedNonces { pool: self.writer.clone() })
    }
}

impl SharedNonces {
    /// Records `part`, a part of a nonce's hash, for `sender`. Returns `false` if any process has already recorded it.
    ///
    /// This is one statement on one row, and does not wait for the disk.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not respond. In that case, refuse the request.
    pub async fn take(&self, sender: [u8; 16], part: u64, now: Timestamp) -> Result<bool, StorageError> {
        const INSERT: &str =
            "INSERT INTO nonces (sender, part, taken_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let query = sqlx::query(INSERT).bind(sender.to_vec()).bind(part.cast_signed()).bind(moment(now)?);
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Deletes the nonces recorded before `earliest`, and returns their number.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not respond.
    pub async fn forget_before(&self, earliest: Timestamp) -> Result<u64, StorageError> {
        let query = sqlx::query("DELETE FROM nonces WHERE taken_at < $1").bind(moment(earliest)?);
        Ok(query.execute(&self.pool).await?.rows_affected())
    }
}
