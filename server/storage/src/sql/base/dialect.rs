use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use super::durability::Durability;
use crate::StorageError;

/// The kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

    /// Returns the statement that begins a transaction whose queries all see one state.
    pub(in crate::sql) fn begin_snapshot(self) -> &'static str {
        match self {
            Dialect::Sqlite => "BEGIN",
            Dialect::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
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

    /// Returns the queries for all columns and for all foreign keys. The log of migrations is left out, and so are
    /// PostgreSQL's unlogged tables, which a crash of the database may empty.
    pub(in crate::sql) fn table_queries(self) -> (&'static str, &'static str) {
        match self {
            Dialect::Sqlite => (
                "SELECT CAST(t.name AS TEXT) AS of_table, CAST(c.name AS TEXT) AS of_column, CAST(c.type AS TEXT) AS kind \
                 FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' \
                 AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND t.name <> '_sqlx_migrations' ORDER BY 1, 2",
                "SELECT CAST(t.name AS TEXT) AS of_table, CAST(k.\"table\" AS TEXT) AS to_table \
                 FROM sqlite_master t, pragma_foreign_key_list(t.name) k WHERE t.type = 'table'",
            ),
            Dialect::Postgres => (
                "SELECT CAST(t.relname AS TEXT) COLLATE \"C\" AS of_table, CAST(c.attname AS TEXT) COLLATE \"C\" AS of_column, \
                 format_type(c.atttypid, NULL) AS kind FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid \
                 WHERE t.relnamespace = to_regnamespace(current_schema()) AND t.relkind = 'r' AND t.relpersistence = 'p' \
                 AND t.relname <> '_sqlx_migrations' AND c.attnum > 0 AND NOT c.attisdropped ORDER BY 1, 2",
                "SELECT CAST(f.relname AS TEXT) AS of_table, CAST(t.relname AS TEXT) AS to_table FROM pg_constraint k \
                 JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid WHERE k.contype = 'f' \
                 AND f.relnamespace = to_regnamespace(current_schema())",
            ),
        }
    }
}
