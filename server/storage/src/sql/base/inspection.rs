//! A look at a database that changes nothing, for diagnosis.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
};

use folkmoot_protocol::Timestamp;
use sqlx::{
    AnyConnection, Connection, Row,
    any::{AnyRow, install_default_drivers},
    migrate::Migrator,
    sqlite::SqliteConnectOptions,
};

use super::{column::Columns, connect::is_in_memory, dialect::Dialect, migrations::migrator};
use crate::StorageError;

/// A connection to a database that only reads: it neither migrates the schema nor creates a database.
#[derive(Debug)]
pub struct DatabaseReader {
    pub(in crate::sql) dialect: Dialect,
    pub(in crate::sql) connection: AnyConnection,
}

/// The place of a database, according to its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabasePlace {
    /// A SQLite file.
    File(PathBuf),
    /// SQLite in the memory of the coordinator.
    Memory,
    /// A PostgreSQL server.
    Server,
}

impl DatabasePlace {
    /// Returns the place of the database with this URL.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the URL is invalid.
    pub fn of(url: &str) -> Result<Self, StorageError> {
        Ok(match Dialect::of_url(url)? {
            Dialect::Postgres => Self::Server,
            Dialect::Sqlite if is_in_memory(url) => Self::Memory,
            Dialect::Sqlite => Self::File(SqliteConnectOptions::from_str(url)?.get_filename().to_owned()),
        })
    }
}

/// The migrations that a database has run, compared with those of this program. Migrations are named by their numbers,
/// oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigrationState {
    /// The number of migrations that the database has run.
    pub applied: usize,
    /// The number of migrations that this program knows.
    pub known: usize,
    /// The known migrations that the database has not run yet.
    pub pending: Vec<i64>,
    /// The migrations that the database has run and this program does not know, because the program is older.
    pub unknown: Vec<i64>,
    /// The migrations whose text differs from the one that the database has run.
    pub changed: Vec<i64>,
    /// The migrations that began and did not end.
    pub unfinished: Vec<i64>,
}

/// A migration that a database has begun.
struct Begun {
    version: i64,
    checksum: Vec<u8>,
    is_finished: bool,
}

impl DatabaseReader {
    /// Connects to `sqlite://…` or `postgres://…`. A SQLite file must exist.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database cannot be reached or the URL is invalid.
    pub async fn open(url: &str) -> Result<Self, StorageError> {
        install_default_drivers();
        let dialect = Dialect::of_url(url)?;
        let connection = match dialect {
            Dialect::Sqlite => AnyConnection::connect(&reading(url)?).await?,
            Dialect::Postgres => {
                let mut connection = AnyConnection::connect(url).await?;
                sqlx::raw_sql("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
                    .execute(&mut connection)
                    .await?;
                connection
            }
        };
        Ok(Self { dialect, connection })
    }

    /// Returns the name of the database program and its version, for example `SQLite 3.50.4`.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn version(&mut self) -> Result<String, StorageError> {
        let (name, select) = match self.dialect {
            Dialect::Sqlite => ("SQLite", "SELECT sqlite_version()"),
            Dialect::Postgres => ("PostgreSQL", "SELECT current_setting('server_version')"),
        };
        let version: String = sqlx::query_scalar(select).fetch_one(&mut self.connection).await?;
        Ok(format!("{name} {version}"))
    }

    /// Compares the migrations that the database has run with those of this program. Without any, the database is new.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer, or it is not a database.
    pub async fn migrations(&mut self) -> Result<MigrationState, StorageError> {
        const COUNT_SQLITE: &str = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
        const COUNT_POSTGRES: &str = "SELECT CAST(COUNT(to_regclass('_sqlx_migrations')) AS BIGINT)";
        const SELECT: &str = "SELECT version, checksum, CAST(CASE WHEN success THEN 1 ELSE 0 END AS BIGINT) \
             AS is_finished FROM _sqlx_migrations ORDER BY version";
        let count = match self.dialect {
            Dialect::Sqlite => COUNT_SQLITE,
            Dialect::Postgres => COUNT_POSTGRES,
        };
        let tables: i64 = sqlx::query_scalar(count).fetch_one(&mut self.connection).await?;
        let rows = match tables {
            0 => Vec::new(),
            _ => sqlx::query(SELECT).fetch_all(&mut self.connection).await?,
        };
        let begun = rows.iter().map(begun_of).collect::<Result<Vec<_>, _>>()?;
        Ok(compare(&begun, &migrator(self.dialect)))
    }

    /// Checks the structure of a SQLite file with `PRAGMA quick_check`, which reads all of it. Returns the faults that it
    /// found; always none for PostgreSQL.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the file cannot be read.
    pub async fn faults(&mut self) -> Result<Vec<String>, StorageError> {
        if self.dialect == Dialect::Postgres {
            return Ok(Vec::new());
        }
        const SELECT: &str = "SELECT CAST(quick_check AS TEXT) FROM pragma_quick_check";
        let checked: Result<Vec<String>, sqlx::Error> =
            sqlx::query_scalar(SELECT).fetch_all(&mut self.connection).await;
        match checked {
            Ok(lines) => Ok(lines.into_iter().filter(|line| line != "ok").collect()),
            // SQLITE_CORRUPT: the damage ends the check itself.
            Err(sqlx::Error::Database(error)) if is_corrupt(error.code().as_deref()) => {
                Ok(vec![error.to_string()])
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the time by the clock of PostgreSQL; `None` for SQLite, which has no clock of its own.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn now(&mut self) -> Result<Option<Timestamp>, StorageError> {
        if self.dialect == Dialect::Sqlite {
            return Ok(None);
        }
        const SELECT: &str =
            "SELECT CAST(floor(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS now";
        let row = sqlx::query(SELECT).fetch_one(&mut self.connection).await?;
        Columns::new(&row, "time").moment("now").map(Some)
    }

    /// Closes the connection.
    pub async fn close(self) {
        // Nothing was written, so an error changes nothing.
        let _ = self.connection.close().await;
    }
}

/// Returns the URL that opens the same SQLite file for reading.
///
/// A file in use, or one that a crash has left, has a write-ahead log (`-wal`) beside it. To read the log, SQLite updates
/// its index in `-shm`, which every connection builds again. Without a log, the file is opened as immutable, because SQLite
/// would otherwise create both files.
fn reading(url: &str) -> Result<String, StorageError> {
    let options = SqliteConnectOptions::from_str(url)?;
    let (base, parameters) = url.split_once('?').unwrap_or((url, ""));
    let is_kept = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default();
        !parameter.is_empty() && !["mode", "immutable"].contains(&name)
    };
    let mut parameters: Vec<&str> = parameters.split('&').filter(is_kept).collect();
    parameters.push("mode=ro");
    if !log_of(options.get_filename()).exists() {
        parameters.push("immutable=1");
    }
    Ok(format!("{base}?{}", parameters.join("&")))
}

fn log_of(file: &Path) -> PathBuf {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

fn begun_of(row: &AnyRow) -> Result<Begun, StorageError> {
    let is_finished: i64 = row.try_get("is_finished")?;
    Ok(Begun {
        version: row.try_get("version")?,
        checksum: row.try_get("checksum")?,
        is_finished: is_finished != 0,
    })
}

fn compare(begun: &[Begun], migrator: &Migrator) -> MigrationState {
    let known: BTreeMap<i64, &[u8]> =
        migrator.iter().map(|migration| (migration.version, &*migration.checksum)).collect();
    let mut state = MigrationState { known: known.len(), ..MigrationState::default() };
    for migration in begun {
        let list = match known.get(&migration.version) {
            _ if !migration.is_finished => &mut state.unfinished,
            None => &mut state.unknown,
            Some(checksum) if **checksum != migration.checksum => &mut state.changed,
            Some(_) => continue,
        };
        list.push(migration.version);
    }
    state.applied = begun.len() - state.unfinished.len();
    let is_begun = |version: &i64| begun.iter().any(|migration| migration.version == *version);
    state.pending = known.into_keys().filter(|version| !is_begun(version)).collect();
    state
}

/// Returns whether a code of SQLite is SQLITE_CORRUPT, or one of its extended codes.
fn is_corrupt(code: Option<&str>) -> bool {
    code.and_then(|code| code.parse::<u32>().ok()).is_some_and(|code| code & 0xff == 11)
}

#[cfg(test)]
#[path = "../../../tests/unit/inspection.rs"]
pub(super) mod tests;
