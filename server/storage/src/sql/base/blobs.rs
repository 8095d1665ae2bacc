//! The blobs that rows name, and the versions whose weights are dropped.

use std::collections::BTreeSet;

use folkmoot_coordinator::task::WarmStart;
use folkmoot_protocol::{BlobDigest, TaskId, Timestamp};
use futures::TryStreamExt;
use sqlx::{AnyConnection, AssertSqlSafe, Row};

use super::{
    column::{Columns, integer, moment},
    dialect::{Dialect, Lock},
    inspection::DatabaseReader,
    tables::{ColumnKind, TableSchema, quoted, tables},
    transaction::in_transaction,
};
use crate::{StorageError, VersionMaking, sql::SqlStorage};

/// Columns that hold text, have very many rows, and never name a blob. All other columns with text are searched, also those
/// of later migrations. The table of model versions has statements of its own.
const SILENT: [(&str, &str); 14] = [
    ("assignments", "client_id id organisation_id purpose round_id slices status status_name task_id"),
    ("audit_entries", "digest organisation_id record"),
    ("check_ins", "attributes client_id organisation_id population sdk_version"),
    ("client_updates", "assignment_id codec digest extent held_by organisation_id place round_id"),
    ("clients", "id organisation_id population public_key site site_key token_id user_key"),
    ("evaluations", "class_report metric_values organisation_id slice source task_id"),
    ("models", "name organisation_id tensor_schema"),
    ("participations", "client_id history organisation_id task_id"),
    ("privacy_ledger", "charge detail digest kind organisation_id population previous round_id task_id"),
    ("reports", "assignment_id organisation_id report"),
    ("rollout_reports", "client_id organisation_id population"),
    ("rounds", "id organisation_id phase phase_name purpose task_id"),
    ("secure_messages", "assignment_id message organisation_id round_id step"),
    ("tasks", "id name_lower organisation_id population state state_name tensor_schema"),
];
/// The table of model versions.
const VERSIONS: &str = "model_versions";
/// The number of digits of a digest.
const DIGEST_DIGITS: usize = 64;
/// The number of the advisory lock that a backup holds in PostgreSQL. The value is arbitrary.
const BACKUP_LOCK: i64 = 0x666f_6c6b_6d6f_6f74;

/// The blobs that a database names at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobNames {
    /// The blobs that a row needs.
    pub needed: BTreeSet<BlobDigest>,
    /// The blobs of versions that were released lately, needed or not. They do not wait for a row.
    pub released: BTreeSet<BlobDigest>,
}

/// The versions of a task whose weights are kept, and their uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptVersions {
    /// The numbers of the versions whose weights are kept.
    pub kept: BTreeSet<u64>,
    /// The base versions of open rounds, and of assignments that are outstanding or whose updates are not combined yet.
    pub in_rounds: BTreeSet<u64>,
    /// The versions that rollouts name, also of rollouts that are held.
    pub rolled_out: BTreeSet<u64>,
}

impl DatabaseReader {
    /// Lists the blobs that rows name, in one snapshot. `since` bounds [`BlobNames::released`].
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer, or [`StorageError::Corrupt`] if a row is invalid.
    pub async fn blob_names(&mut self, since: Timestamp) -> Result<BlobNames, StorageError> {
        self.begin_snapshot().await?;
        blob_names(self.dialect, &mut self.connection, since).await
    }

    /// Lists blobs that rows refer to, at most `limit`: models, plans, and weights that were not dropped. The blob of the newest
    /// row comes first.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer or has no tables yet, or [`StorageError::Corrupt`] if
    /// a stored digest is invalid.
    pub async fn newest_blobs(&mut self, limit: u32) -> Result<Vec<BlobDigest>, StorageError> {
        const SELECT: &str = "SELECT digest FROM (SELECT weights AS digest, created_at FROM model_versions $KEPT \
             UNION ALL SELECT model AS digest, created_at FROM models \
             UNION ALL SELECT plan AS digest, created_at FROM tasks) AS named \
             GROUP BY digest ORDER BY MAX(created_at) DESC, digest LIMIT $1";
        // A database that waits for its migration has only the columns of before.
        let all = tables(self.dialect, &mut self.connection).await?;
        let versions = all.into_iter().filter(|table| table.name == "model_versions");
        let mut columns = versions.flat_map(|table| table.columns);
        let kept = match columns.any(|column| column.name == "dropped_at") {
            true => "WHERE dropped_at IS NULL",
            false => "",
        };
        let query = sqlx::query(AssertSqlSafe(SELECT.replace("$KEPT", kept))).bind(i64::from(limit));
        let rows = query.fetch_all(&mut self.connection).await?;
        rows.iter().map(|row| Columns::new(row, "digest of a blob").parsed("digest")).collect()
    }

    /// Prevents the deletion of blobs until the reader is closed. Call it before [`DatabaseReader::begin_snapshot`]. With
    /// SQLite, it does nothing: nobody else uses the database meanwhile.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn hold_blobs(&mut self) -> Result<(), StorageError> {
        if self.dialect == Dialect::Postgres {
            let lock = format!("SELECT pg_advisory_lock_shared({BACKUP_LOCK})");
            sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut self.connection).await?;
        }
        Ok(())
    }

    /// Returns whether a backup is in progress; see [`DatabaseReader::hold_blobs`].
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn holds_blobs(&mut self) -> Result<bool, StorageError> {
        are_held(self.dialect, &mut self.connection).await
    }
}

impl SqlStorage {
    /// Lists the blobs that rows name, in one snapshot; see [`DatabaseReader::blob_names`].
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer, or [`StorageError::Corrupt`] if a row is invalid.
    pub async fn blob_names(&self, since: Timestamp) -> Result<BlobNames, StorageError> {
        let mut snapshot = self.reader.begin_with(self.dialect.begin_snapshot()).await?;
        let names = blob_names(self.dialect, &mut snapshot, since).await;
        snapshot.rollback().await?;
        names
    }

    /// Returns whether a backup is in progress; see [`DatabaseReader::hold_blobs`].
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn holds_blobs(&self) -> Result<bool, StorageError> {
        are_held(self.dialect, &mut *self.reader.acquire().await?).await
    }

    /// Lists the tasks of all organisations that keep the weights of more than `count` versions, by id.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn tasks_with_versions(&self, count: u64) -> Result<Vec<TaskId>, StorageError> {
        const SELECT: &str = "SELECT task_id FROM model_versions WHERE dropped_at IS NULL GROUP BY task_id \
             HAVING COUNT(*) > $1 ORDER BY task_id";
        let rows = sqlx::query(SELECT).bind(integer(count)?).fetch_all(&self.reader).await?;
        rows.iter().map(|row| Columns::new(row, "model version").parsed("task_id")).collect()
    }

    /// Lists the versions of a task whose weights are kept, and what needs them.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn kept_versions(&self, task_id: TaskId) -> Result<KeptVersions, StorageError> {
        const SELECT: &str = "SELECT 'kept' AS reason, number FROM model_versions WHERE task_id = $1 AND dropped_at IS NULL \
             UNION SELECT 'round', base_version FROM rounds WHERE task_id = $1 AND is_open = 1 \
             UNION SELECT 'round', base_version FROM assignments WHERE task_id = $1 AND status_name = 'outstanding' \
             UNION SELECT 'round', assignments.base_version FROM rounds \
             JOIN client_updates ON client_updates.round_id = rounds.id \
             JOIN assignments ON assignments.id = client_updates.assignment_id \
             WHERE rounds.task_id = $1 AND rounds.is_open = 1 \
             UNION SELECT 'rollout', version FROM rollouts WHERE task_id = $1";
        let mut versions = KeptVersions::default();
        for row in sqlx::query(SELECT).bind(task_id.to_string()).fetch_all(&self.reader).await? {
            let columns = Columns::new(&row, "model version");
            let number = columns.count("number")?;
            match columns.text("reason")?.as_str() {
                "kept" => versions.kept.insert(number),
                "round" => versions.in_rounds.insert(number),
                _ => versions.rolled_out.insert(number),
            };
        }
        Ok(versions)
    }

    /// Lists the versions from which tasks of all organisations have started.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer, or [`StorageError::Corrupt`] if a row is invalid.
    pub async fn warm_starts(&self) -> Result<Vec<WarmStart>, StorageError> {
        const SELECT: &str = "SELECT making FROM tasks JOIN model_versions ON model_versions.task_id = tasks.id \
             AND model_versions.number = 0 WHERE making LIKE '%\"warm_start\":%'";
        let rows = sqlx::query(SELECT).fetch_all(&self.reader).await?;
        let making = |row| Ok(Columns::new(row, "model version").json::<VersionMaking>("making")?.warm_start);
        rows.iter().filter_map(|row| making(row).transpose()).collect()
    }

    /// Records that the weights of versions are dropped. Returns the versions that this changed: none that a rollout names.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn drop_versions(
        &self,
        task_id: TaskId,
        numbers: &[u64],
        now: Timestamp,
    ) -> Result<Vec<u64>, StorageError> {
        const LOCK: &str = "SELECT number FROM model_versions WHERE task_id = $1 AND number = $2";
        const UPDATE: &str = "UPDATE model_versions SET dropped_at = $3 WHERE task_id = $1 AND number = $2 \
             AND dropped_at IS NULL AND NOT EXISTS (SELECT 1 FROM rollouts WHERE task_id = $1 AND version = $2)";
        in_transaction!(self, |connection| {
            let mut dropped = Vec::new();
            for number in numbers {
                // A rollout that is being created has locked the version. The second statement sees it.
                let lock = sqlx::query(self.dialect.locked(LOCK, Lock::Update, VERSIONS));
                lock.bind(task_id.to_string())
                    .bind(integer(*number)?)
                    .fetch_optional(&mut *connection)
                    .await?;
                let update = sqlx::query(UPDATE).bind(task_id.to_string()).bind(integer(*number)?);
                if update.bind(moment(now)?).execute(&mut *connection).await?.rows_affected() == 1 {
                    dropped.push(*number);
                }
            }
            Ok(dropped)
        })
    }
}

/// Locks a version that something begins to use. Fails if its weights were dropped.
pub(in crate::sql) async fn use_version(
    connection: &mut AnyConnection,
    dialect: Dialect,
    task_id: TaskId,
    number: u64,
) -> Result<(), StorageError> {
    const SELECT: &str = "SELECT dropped_at FROM model_versions WHERE task_id = $1 AND number = $2";
    let query = sqlx::query(dialect.locked(SELECT, Lock::Share, VERSIONS));
    let row = query.bind(task_id.to_string()).bind(integer(number)?).fetch_optional(connection).await?;
    let row = row.ok_or(StorageError::NotFound("model version"))?;
    match Columns::new(&row, "model version").optional_moment("dropped_at")? {
        None => Ok(()),
        Some(_) => Err(StorageError::RevisionConflict("model version")),
    }
}

async fn are_held(dialect: Dialect, connection: &mut AnyConnection) -> Result<bool, StorageError> {
    if dialect == Dialect::Sqlite {
        return Ok(false);
    }
    // The lock ends with the statement.
    let select = format!(
        "SELECT CAST(CASE WHEN pg_try_advisory_xact_lock({BACKUP_LOCK}) THEN 0 ELSE 1 END AS BIGINT)"
    );
    let is_held: i64 = sqlx::query_scalar(AssertSqlSafe(select)).fetch_one(connection).await?;
    Ok(is_held == 1)
}

async fn blob_names(
    dialect: Dialect,
    connection: &mut AnyConnection,
    since: Timestamp,
) -> Result<BlobNames, StorageError> {
    // A state is needed by the next version, and by clients that download it with their base version.
    const STATES: &str = "SELECT making FROM model_versions JOIN (\
         SELECT task_id, MAX(number) AS number FROM model_versions GROUP BY task_id \
         UNION SELECT task_id, base_version FROM rounds WHERE is_open = 1 \
         UNION SELECT task_id, base_version FROM assignments WHERE status_name = 'outstanding') AS used \
         ON used.task_id = model_versions.task_id AND used.number = model_versions.number";
    const WEIGHTS: &str = "SELECT weights FROM model_versions WHERE dropped_at IS NULL";
    const RELEASED: &str = "SELECT weights, making FROM organisations \
         JOIN model_versions ON model_versions.organisation_id = organisations.id WHERE model_versions.created_at >= $1";
    let mut names = BlobNames::default();
    for table in tables(dialect, connection).await? {
        let columns = naming(&table);
        if columns.is_empty() {
            continue;
        }
        let listed: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
        let select = format!("SELECT {} FROM {}", listed.join(", "), quoted(&table.name));
        let mut rows = sqlx::query(AssertSqlSafe(select)).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            for column in &columns {
                let text: Option<String> = row.try_get(*column)?;
                names.needed.extend(digests(text.as_deref().unwrap_or_default()));
            }
        }
    }
    let mut rows = sqlx::query(WEIGHTS).fetch(&mut *connection);
    while let Some(row) = rows.try_next().await? {
        names.needed.insert(Columns::new(&row, "model version").parsed("weights")?);
    }
    drop(rows);
    let states = |making: VersionMaking| [making.finalizer_state, making.noise_state].into_iter().flatten();
    let mut rows = sqlx::query(STATES).fetch(&mut *connection);
    while let Some(row) = rows.try_next().await? {
        names.needed.extend(states(Columns::new(&row, "model version").json("making")?));
    }
    drop(rows);
    let mut rows = sqlx::query(RELEASED).bind(moment(since)?).fetch(&mut *connection);
    while let Some(row) = rows.try_next().await? {
        let columns = Columns::new(&row, "model version");
        names.released.insert(columns.parsed("weights")?);
        names.released.extend(states(columns.json("making")?));
    }
    Ok(names)
}

/// Lists the columns of a table that can name blobs.
fn naming(table: &TableSchema) -> Vec<&str> {
    if table.name == VERSIONS {
        return Vec::new();
    }
    let silent = SILENT.iter().find(|(name, _)| *name == table.name).map_or("", |(_, columns)| *columns);
    let texts = table.columns.iter().filter(|column| column.kind == ColumnKind::Text);
    let names = texts.map(|column| column.name.as_str());
    names.filter(|name| !silent.split(' ').any(|one| one == *name)).collect()
}

/// Finds digests in a text, which may be JSON.
fn digests(text: &str) -> impl Iterator<Item = BlobDigest> {
    let words = text.split(|letter: char| !letter.is_ascii_hexdigit());
    words.filter(|word| word.len() == DIGEST_DIGITS).filter_map(|word| word.parse().ok())
}

#[cfg(test)]
#[path = "../../../tests/unit/blobs.rs"]
mod tests;
