//! The table of the coordinators that share a PostgreSQL database: the ones that are alive, and the signals between
//! them.

use std::time::Duration;

use folkmoot_storage::{SqlStorage, StorageError};
use sqlx::{AnyPool, AssertSqlSafe, Row, any::AnyRow, postgres::PgListener};

/// The channel of the notifications.
const CHANNEL: &str = "folkmoot";
/// The time without a heartbeat, in milliseconds, after which a coordinator counts as dead.
const DEAD_AFTER_MILLISECONDS: u64 = 4_000;
/// The time limit for getting a connection: heartbeats that come later are too late.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// The database's clock, in milliseconds. All coordinators use it, because their own clocks may differ.
const NOW: &str = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";

/// A coordinator that shares the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRecord {
    /// The coordinator's id, which is the same after a restart.
    pub id: String,
    /// The id of this run of the coordinator.
    pub start_id: String,
    /// The place of its blobs and updates. Coordinators that share a database must share this place, too.
    pub place: String,
    /// The program's version.
    pub version: String,
}

/// The coordinators that share a PostgreSQL database.
#[derive(Clone)]
pub struct ProcessTable {
    pool: AnyPool,
}

impl ProcessTable {
    /// Returns the coordinators that share a PostgreSQL database. Returns `None` for SQLite: only one process uses its
    /// data folder.
    pub fn of(storage: &SqlStorage) -> Option<Self> {
        // Heartbeats must not wait for the connections that requests use.
        storage.another_pool(2, ACQUIRE_TIMEOUT).map(|pool| Self { pool })
    }

    /// Renews the row of `own`, releases the leases of dead coordinators, and lists the living ones by id, including
    /// `own`.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not respond.
    pub async fn beat(&self, own: &ProcessRecord) -> Result<Vec<ProcessRecord>, StorageError> {
        let upsert = format!(
            "INSERT INTO processes (id, start_id, place, version, seen_at) VALUES ($1, $2, $3, $4, {NOW}) \
             ON CONFLICT (id) DO UPDATE SET start_id = excluded.start_id, place = excluded.place, \
             version = excluded.version, seen_at = excluded.seen_at"
        );
        let query = sqlx::query(AssertSqlSafe(upsert));
        let query = query.bind(&own.id).bind(&own.start_id).bind(&own.place).bind(&own.version);
        query.execute(&self.pool).await?;
        let release = format!(
            "DELETE FROM leases WHERE holder IN \
             (SELECT id FROM processes WHERE seen_at < {NOW} - {DEAD_AFTER_MILLISECONDS})"
        );
        sqlx::query(AssertSqlSafe(release)).execute(&self.pool).await?;
        self.living().await
    }

    /// Lists the living coordinators, by id.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not respond.
    pub async fn living(&self) -> Result<Vec<ProcessRecord>, StorageError> {
        let select = format!(
            "SELECT id, start_id, place, version FROM processes \
             WHERE seen_at >= {NOW} - {DEAD_AFTER_MILLISECONDS} ORDER BY id"
        );
        let rows = sqlx::query(AssertSqlSafe(select)).fetch_all(&self.pool).await?;
        rows.iter().map(record_of).collect()
    }

    /// Removes the row of a coordinator that stops.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not respond. The row then counts as dead after a while.
    pub async fn leave(&self, id: &str) -> Result<(), StorageError> {
        sqlx::query("DELETE FROM processes WHERE id = $1").bind(id).execute(&self.pool).await?;
        Ok(())
    }

    /// Sends a message to every listening coordinator, including this one. A message has at most 7,999 bytes. Messages
    /// can be lost, so nothing may depend on them.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not respond, or the message is too long.
    pub async fn send(&self, message: &str) -> Result<(), StorageError> {
        let query = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(message);
        query.execute(&self.pool).await?;
        Ok(())
    }

    /// Listens to the messages that are sent from now on, with a connection of its own.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not respond.
    pub async fn listen(&self) -> Result<ProcessListener, StorageError> {
        let options = self.pool.connect_options();
        let mut listener = PgListener::connect(options.database_url.as_str()).await?;
        listener.listen(CHANNEL).await?;
        Ok(ProcessListener { listener })
    }
}

/// A connection that receives the messages of all coordinators.
#[derive(Debug)]
pub struct ProcessListener {
    listener: PgListener,
}

impl ProcessListener {
    /// Waits for the next message. Returns `None` if the connection was lost and restored: messages may then be missing.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not respond.
    pub async fn next(&mut self) -> Result<Option<String>, StorageError> {
        Ok(self.listener.try_recv().await?.map(|message| message.payload().to_owned()))
    }
}

fn record_of(row: &AnyRow) -> Result<ProcessRecord, StorageError> {
    Ok(ProcessRecord {
        id: row.try_get("id")?,
        start_id: row.try_get("start_id")?,
        place: row.try_get("place")?,
        version: row.try_get("version")?,
    })
}
