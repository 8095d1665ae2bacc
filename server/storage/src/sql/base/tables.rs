//! Reads and writes whole tables, whatever their columns are, so that a backup also covers the tables and columns of
//! later migrations.

use std::fmt::Write;

use folkmoot_protocol::{AssignmentId, BlobDigest, OrganisationId, RoundId};
use futures::TryStreamExt;
use serde::{Deserialize, Serialize};
use sqlx::{Any, AnyConnection, AssertSqlSafe, Row, Transaction, any::AnyRow};

use super::{column::Columns, dialect::Dialect, inspection::DatabaseReader, migrations::migrator};
use crate::{StorageError, sql::SqlStorage};
use folkmoot_objects::UpdatePlace;

/// A value of any column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TableValue {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// Text.
    Text(String),
    /// Bytes; in JSON, an array of numbers.
    Bytes(Vec<u8>),
}

/// The kind of values in a column. Both databases have these three and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// 64-bit integers.
    Integer,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableColumn {
    /// The name.
    pub name: String,
    /// The kind of its values.
    pub kind: ColumnKind,
}

/// A table with its columns, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSchema {
    /// The name.
    pub name: String,
    /// The columns.
    pub columns: Vec<TableColumn>,
}

/// The migrations of a database, in a form that can be stored and compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaVersion {
    database: Dialect,
    /// The number of the newest migration.
    pub newest: i64,
    /// The digest of all migrations.
    digest: BlobDigest,
}

impl SchemaVersion {
    fn of(database: Dialect) -> Self {
        let (mut newest, mut bytes) = (0, Vec::new());
        for migration in migrator(database).iter() {
            newest = migration.version;
            bytes.extend(migration.version.to_be_bytes());
            bytes.extend(&*migration.checksum);
        }
        Self { database, newest, digest: BlobDigest::of(&bytes) }
    }

    /// Returns the version that this program gives to the same kind of database.
    #[must_use]
    pub fn of_this_program(&self) -> Self {
        Self::of(self.database)
    }
}

/// An accepted update of a round that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenUpdate {
    /// The round.
    pub round_id: RoundId,
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// The place in the object storage; `None` if the update lies in the round log.
    pub place: Option<UpdatePlace>,
}

impl DatabaseReader {
    /// Begins a transaction that lasts until the reader is closed. Everything read in it has one common state, although
    /// coordinators may be writing.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn begin_snapshot(&mut self) -> Result<(), StorageError> {
        sqlx::raw_sql(self.dialect.begin_snapshot()).execute(&mut self.connection).await?;
        // The snapshot is taken at the first query.
        sqlx::query("SELECT 1").execute(&mut self.connection).await?;
        Ok(())
    }

    /// Returns the version of a schema whose migrations are those of this program.
    pub fn schema_version(&self) -> SchemaVersion {
        SchemaVersion::of(self.dialect)
    }

    /// Lists the tables. A table comes after those that its foreign keys refer to.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer, or [`StorageError::Corrupt`] if a table is not one of
    /// a coordinator.
    pub async fn tables(&mut self) -> Result<Vec<TableSchema>, StorageError> {
        tables(self.dialect, &mut self.connection).await
    }

    /// Returns whether a table has rows.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn has_rows(&mut self, table: &TableSchema) -> Result<bool, StorageError> {
        let select = format!("SELECT 1 FROM {} LIMIT 1", quoted(&table.name));
        let row = sqlx::query(AssertSqlSafe(select)).fetch_optional(&mut self.connection).await?;
        Ok(row.is_some())
    }

    /// Calls `visit` with every row of a table. A row has its values in the order of the columns. Holds only a few rows
    /// in memory.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer; also the errors of `visit`.
    pub async fn rows<E: From<StorageError>>(
        &mut self,
        table: &TableSchema,
        mut visit: impl FnMut(Vec<TableValue>) -> Result<(), E>,
    ) -> Result<(), E> {
        let select = format!("SELECT {} FROM {}", names(table), quoted(&table.name));
        let mut rows = sqlx::query(AssertSqlSafe(select)).fetch(&mut self.connection);
        while let Some(row) = rows.try_next().await.map_err(StorageError::from)? {
            let values = table.columns.iter().map(|column| value(&row, column));
            visit(values.collect::<Result<_, _>>()?)?;
        }
        Ok(())
    }

    /// Lists the accepted updates of rounds that have not ended, each with the round that gave its assignment. Updates that
    /// edge aggregators hold are left out.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer, or [`StorageError::Corrupt`] if a row is invalid.
    pub async fn open_updates(&mut self) -> Result<Vec<OpenUpdate>, StorageError> {
        const SELECT: &str = "SELECT assignments.round_id, client_updates.assignment_id, client_updates.place \
             FROM rounds JOIN client_updates ON client_updates.round_id = rounds.id \
             JOIN assignments ON assignments.id = client_updates.assignment_id \
             WHERE rounds.is_open = 1 AND client_updates.held_by IS NULL";
        let rows = sqlx::query(SELECT).fetch_all(&mut self.connection).await?;
        let update = |row| {
            let columns = Columns::new(row, "update");
            let (round_id, assignment_id) = (columns.parsed("round_id")?, columns.parsed("assignment_id")?);
            Ok(OpenUpdate { round_id, assignment_id, place: columns.optional_json("place")? })
        };
        rows.iter().map(update).collect()
    }

    /// Returns the id of the organisation with this name.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer, or [`StorageError::Corrupt`] if the id is invalid.
    pub async fn organisation_named(&mut self, name: &str) -> Result<Option<OrganisationId>, StorageError> {
        let query = sqlx::query("SELECT id FROM organisations WHERE name = $1").bind(name.to_owned());
        let row = query.fetch_optional(&mut self.connection).await?;
        row.map(|row| Columns::new(&row, "organisation").parsed("id")).transpose()
    }
}

/// Writes rows into tables, in one transaction. If it is dropped before [`TableWriter::commit`], nothing is written.
pub struct TableWriter {
    dialect: Dialect,
    transaction: Transaction<'static, Any>,
}

impl SqlStorage {
    /// Begins to write rows into tables.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn table_writer(&self) -> Result<TableWriter, StorageError> {
        Ok(TableWriter { dialect: self.dialect, transaction: self.begin().await? })
    }
}

impl TableWriter {
    /// Lists the tables; see [`DatabaseReader::tables`].
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn tables(&mut self) -> Result<Vec<TableSchema>, StorageError> {
        tables(self.dialect, &mut self.transaction).await
    }

    /// Inserts rows. `table` must be one of [`TableWriter::tables`], and the rows have a value for each of its columns.
    /// All values together must be at most 32,000.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database refuses a row, or [`StorageError::Corrupt`] if a row does not fit the
    /// columns.
    pub async fn insert(
        &mut self,
        table: &TableSchema,
        rows: &[Vec<TableValue>],
    ) -> Result<(), StorageError> {
        let mut insert = format!("INSERT INTO {} ({}) VALUES ", quoted(&table.name), names(table));
        let width = table.columns.len();
        for row in 0..rows.len() {
            let separator = if row == 0 { "(" } else { ", (" };
            let numbers = (row * width + 1..=(row + 1) * width).map(|number| format!("${number}"));
            let _ = write!(insert, "{separator}{})", numbers.collect::<Vec<_>>().join(", "));
        }
        let mut query = sqlx::query(AssertSqlSafe(insert));
        for row in rows {
            if row.len() != width {
                return Err(corrupt(&table.name, "a row has a wrong number of values"));
            }
            for (value, column) in row.iter().cloned().zip(&table.columns) {
                use ColumnKind::{Bytes, Integer, Text};
                query = match (value, column.kind) {
                    (TableValue::Null, Integer) => query.bind(None::<i64>),
                    (TableValue::Null, Text) => query.bind(None::<String>),
                    (TableValue::Null, Bytes) => query.bind(None::<Vec<u8>>),
                    (TableValue::Integer(value), Integer) => query.bind(value),
                    (TableValue::Text(value), Text) => query.bind(value),
                    (TableValue::Bytes(value), Bytes) => query.bind(value),
                    _ => return Err(corrupt(&table.name, "a value does not fit its column")),
                };
            }
        }
        query.execute(&mut *self.transaction).await?;
        Ok(())
    }

    /// Commits all rows.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not commit them. Nothing is written then.
    pub async fn commit(self) -> Result<(), StorageError> {
        Ok(self.transaction.commit().await?)
    }
}

pub(in crate::sql) async fn tables(
    dialect: Dialect,
    connection: &mut AnyConnection,
) -> Result<Vec<TableSchema>, StorageError> {
    let (columns, references) = dialect.table_queries();
    let mut tables: Vec<TableSchema> = Vec::new();
    for row in sqlx::query(columns).fetch_all(&mut *connection).await? {
        let (name, column, kind): (String, String, String) =
            (row.try_get("of_table")?, row.try_get("of_column")?, row.try_get("kind")?);
        let kind = match kind.to_ascii_lowercase().as_str() {
            "integer" | "bigint" => ColumnKind::Integer,
            "text" => ColumnKind::Text,
            "blob" | "bytea" => ColumnKind::Bytes,
            other => return Err(corrupt(&name, &format!("column {column} has the type {other}"))),
        };
        if tables.last().is_none_or(|table| table.name != name) {
            tables.push(TableSchema { name, columns: Vec::new() });
        }
        if let Some(table) = tables.last_mut() {
            table.columns.push(TableColumn { name: column, kind });
        }
    }
    let mut open: Vec<(String, String)> = Vec::new();
    for row in sqlx::query(references).fetch_all(&mut *connection).await? {
        open.push((row.try_get("of_table")?, row.try_get("to_table")?));
    }
    let mut ordered = Vec::new();
    while !tables.is_empty() {
        let is_free = |table: &TableSchema| open.iter().all(|(from, to)| *from != table.name || from == to);
        let (free, others): (Vec<_>, Vec<_>) = tables.into_iter().partition(is_free);
        if free.is_empty() {
            return Err(corrupt(&others[0].name, "its foreign keys form a ring"));
        }
        open.retain(|(_, to)| free.iter().all(|table| table.name != *to));
        ordered.extend(free);
        tables = others;
    }
    Ok(ordered)
}

fn value(row: &AnyRow, column: &TableColumn) -> Result<TableValue, StorageError> {
    let name = column.name.as_str();
    let value = match column.kind {
        ColumnKind::Integer => row.try_get::<Option<i64>, _>(name)?.map(TableValue::Integer),
        ColumnKind::Text => row.try_get::<Option<String>, _>(name)?.map(TableValue::Text),
        ColumnKind::Bytes => row.try_get::<Option<Vec<u8>>, _>(name)?.map(TableValue::Bytes),
    };
    Ok(value.unwrap_or(TableValue::Null))
}

fn names(table: &TableSchema) -> String {
    table.columns.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
}

pub(in crate::sql) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn corrupt(table: &str, detail: &str) -> StorageError {
    StorageError::Corrupt { what: "table", detail: format!("{table}: {detail}") }
}
