use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use super::durability::Durability;
use crate::StorageError;

/// The kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Dialect {
    Sqlite,
    Postgres,
}

/// The lock on a row that was read. It holds until the transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Lock {
    /// No other transaction may change the row; others may hold the same lock.
    Share,
    /// No other transaction may change or lock the row.
    Update,
}

impl Dialect {
    /// Determines the kind of database from the URL's scheme.
    pub(in crate::sql) fn of_url(url: &str) -> Result<Self, StorageError> {
        match url.split(':').next() {
            Some("sqlite") => Ok(Dialect::Sqlite),
            Some("postgres" | "postgresql") => Ok(Dialect::Postgres),
            // Do not show the URL: it may contain a password.
            _ => {
                let expected = "a database URL begins with `sqlite:`, `postgres:` or `postgresql:`";
                Err(sqlx::Error::Configuration(expected.into()).into())
            }
        }
    }

    /// Returns the statements that begin a writing transaction.
    ///
    /// On SQLite, they acquire the write lock immediately. Without it, a transaction that reads first and writes later
    /// would fail at once if another transaction wrote in between. The durability of SQLite belongs to the connection,
    /// so each transaction sets its own.
    pub(in crate::sql) fn begin(self, durability: Durability) -> &'static str {
        match (self, durability) {
            (Dialect::Sqlite, Durability::Full) => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
            (Dialect::Sqlite, Durability::Normal) => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
            (Dialect::Postgres, Durability::Full) => "BEGIN ISOLATION LEVEL READ COMMITTED",
            (Dialect::Postgres, Durability::Normal) => {
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off"
            }
        }
    }

    /// Adds a lock on the rows of `table` to the query. On SQLite, this is not needed, because the transaction locks
    /// the whole database.
    pub(in crate::sql) fn locked(self, query: &'static str, lock: Lock, table: &'static str) -> SqlStr {
        let verb = match (self, lock) {
            (Dialect::Sqlite, _) => return query.into_sql_str(),
            (Dialect::Postgres, Lock::Share) => "SHARE",
            (Dialect::Postgres, Lock::Update) => "UPDATE",
        };
        AssertSqlSafe(format!("{query} FOR {verb} OF {table}")).into_sql_str()
    }
}
