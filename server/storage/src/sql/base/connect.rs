use std::time::Duration;

use sqlx::{
    AnyPool, Connection, Executor,
    any::{AnyPoolOptions, install_default_drivers},
};

use super::{dialect::Dialect, durability::Durability, migrations::migrator};
use crate::{StorageError, sql::SqlStorage};

/// The maximum time, in milliseconds, that a statement waits for another process's lock on the SQLite file.
const SQLITE_BUSY_MILLISECONDS: u32 = 10_000;
/// PostgreSQL ends the transaction of a process that hangs or has lost its network. Others would wait for its locks.
const POSTGRES_SESSION: &str = "SET idle_in_transaction_session_timeout = '10s'";

/// Connection options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlOptions {
    /// The maximum number of connections. For SQLite, this is the number of readers; there is one writer in addition.
    pub connections_max: u32,
    /// The maximum time, in seconds, that a caller waits for a free connection before it gets an error.
    pub acquire_seconds_max: u64,
    /// The moment at which a transaction is acknowledged.
    pub durability: Durability,
}

impl Default for SqlOptions {
    fn default() -> Self {
        Self { connections_max: 8, acquire_seconds_max: 30, durability: Durability::Full }
    }
}

impl SqlStorage {
    /// Connects to `sqlite://<path>?mode=rwc`, `sqlite::memory:` or `postgres://…`, and migrates the schema.
    ///
    /// A database in memory has one connection and lives until its last handle is dropped. Several processes may
    /// connect to one PostgreSQL at the same time: the first one migrates the schema, and the others wait.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database cannot be reached or the URL is invalid.
    /// [`StorageError::Migrate`] if the schema is newer than this build or was changed manually.
    pub async fn connect(url: &str, options: SqlOptions) -> Result<SqlStorage, StorageError> {
        install_default_drivers();
        let dialect = Dialect::of_url(url)?;
        let (writer, durability, is_file) = match dialect {
            Dialect::Postgres => {
                let pool = pool_options(&options, options.connections_max).after_connect(|connection, _| {
                    Box::pin(async { connection.execute(POSTGRES_SESSION).await.map(|_| ()) })
                });
                (pool.connect(url).await?, Durability::Full, false)
            }
            Dialect::Sqlite if is_in_memory(url) => {
                (sqlite_pool(url, &options, 1, "").await?, options.durability, false)
            }
            Dialect::Sqlite => {
                let pool = sqlite_pool(url, &options, 1, "PRAGMA journal_mode = WAL;").await?;
                (pool, options.durability, true)
            }
        };
        migrator(dialect).run(&writer).await?;
        // Readers are opened after the migration: an older connection would read rows by the columns of before.
        let reader = match is_file {
            true => sqlite_pool(url, &options, options.connections_max, "PRAGMA query_only = ON;").await?,
            false => writer.clone(),
        };
        Ok(SqlStorage { dialect, durability, writer, reader })
    }

    /// Returns the number of connections for writing transactions.
    pub(crate) fn writers(&self) -> usize {
        self.writer.options().get_max_connections() as usize
    }

    /// Returns another pool for a PostgreSQL database, which connects when it is used. `None` for SQLite, which one process
    /// uses alone.
    pub fn another_pool(&self, connections_max: u32, acquire_timeout: Duration) -> Option<AnyPool> {
        if self.dialect != Dialect::Postgres {
            return None;
        }
        let options = AnyPoolOptions::new().max_connections(connections_max).acquire_timeout(acquire_timeout);
        Some(options.connect_lazy_with((*self.writer.connect_options()).clone()))
    }

    /// Waits until the connections in use are returned, and then closes all connections.
    pub async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}

pub(super) fn is_in_memory(url: &str) -> bool {
    url.contains(":memory:") || url.contains("mode=memory")
}

fn pool_options(options: &SqlOptions, connections_max: u32) -> AnyPoolOptions {
    AnyPoolOptions::new()
        .max_connections(connections_max.max(1))
        .acquire_timeout(Duration::from_secs(options.acquire_seconds_max))
}

/// Opens a pool whose connections are never closed, because a database in memory would be lost with them.
async fn sqlite_pool(
    url: &str,
    options: &SqlOptions,
    connections_max: u32,
    pragmas: &'static str,
) -> Result<AnyPool, StorageError> {
    let synchronous = match options.durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    let pragmas = format!(
        "PRAGMA busy_timeout = {SQLITE_BUSY_MILLISECONDS}; {pragmas} PRAGMA synchronous = {synchronous}; \
         PRAGMA foreign_keys = ON;"
    );
    let pool = pool_options(options, connections_max)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let pragmas = sqlx::AssertSqlSafe(pragmas.clone());
            Box::pin(async move { connection.execute(sqlx::raw_sql(pragmas)).await.map(|_| ()) })
        })
        // A full disk ends a transaction so that it cannot be rolled back. The connection could never begin another one.
        .after_release(|connection, _| {
            Box::pin(async { connection.ping().await.map(|()| !connection.is_in_transaction()) })
        });
    Ok(pool.connect(url).await?)
}

#[cfg(test)]
#[path = "../../../tests/unit/connect.rs"]
mod tests;
