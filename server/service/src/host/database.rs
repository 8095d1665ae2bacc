//! The connection to the database.

use folkmoot_storage::{SqlOptions, SqlStorage, StorageError};

/// The time, in seconds, for which a request waits for a connection to PostgreSQL. Clients wait 15 seconds for an answer, so
/// a request that finds no database is refused before its client gives up.
const CONNECTION_SECONDS_MAX: u64 = 10;

/// Opens the database, and migrates its schema.
///
/// # Errors
/// Fails if the database cannot be reached or migrated.
pub async fn open(url: &str) -> Result<SqlStorage, StorageError> {
    let mut options = SqlOptions::default();
    if !url.starts_with("sqlite:") {
        options.acquire_seconds_max = CONNECTION_SECONDS_MAX;
    }
    SqlStorage::connect(url, options).await
}
