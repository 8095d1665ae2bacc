use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use crate::StorageError;

/// Which database speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Dialect {
    Sqlite,
    Postgres,
}

/// What a read row must be safe from until the transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Lock {
    /// Nobody else changes it; others may hold the same lock.
    Share,
    /// Nobody else changes or locks it.
    Update,
}

impl Dialect {
    /// Recognises the database by its URL's scheme.
    pub(in crate::sql) fn of_url(url: &str) -> Result<Self, StorageError> {
        match url.split(':').next() {
            Some("sqlite") => Ok(Dialect::Sqlite),
            Some("postgres" | "postgresql") => Ok(Dialect::Postgres),
            // The URL is not shown: it may hold a password.
            _ => {
                let expected = "a database URL begins with `sqlite:`, `postgres:` or `postgresql:`";
                Err(sqlx::Error::Configuration(expected.into()).into())
            }
        }
    }

    /// Returns the statement that begins a transaction that writes.
    ///
    /// On SQLite it takes the write lock at once: a transaction that reads first and writes later would fail,
    /// without a wait, if another one wrote in between.
    pub(in crate::sql) fn begin(self) -> &'static str {
        match self {
            Dialect::Sqlite => "BEGIN IMMEDIATE",
            Dialect::Postgres => "BEGIN ISOLATION LEVEL READ COMMITTED",
        }
    }

    /// Returns the query with its rows of `table` locked. On SQLite the transaction has the whole database.
    pub(in crate::sql) fn locked(self, query: &'static str, lock: Lock, table: &'static str) -> SqlStr {
        let verb = match (self, lock) {
            (Dialect::Sqlite, _) => return query.into_sql_str(),
            (Dialect::Postgres, Lock::Share) => "SHARE",
            (Dialect::Postgres, Lock::Update) => "UPDATE",
        };
        AssertSqlSafe(format!("{query} FOR {verb} OF {table}")).into_sql_str()
    }
}
