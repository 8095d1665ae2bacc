use async_trait::async_trait;
use folkmoot_coordinator::audit_log::{Entry, Head};
use folkmoot_protocol::{OrganisationId, Timestamp};
use sqlx::AnyConnection;

use super::{
    SqlStorage,
    column::{Columns, integer, missing},
    dialect::{Dialect, Lock},
    transaction::in_transaction,
};
use crate::{
    AuditRepository, StorageError,
    audit::{Act, PRUNED_MAX, actor, first_due, last_before, prune_mark},
};

const HEAD: &str = "SELECT * FROM audit_heads WHERE organisation_id = $1";

#[async_trait]
impl AuditRepository for SqlStorage {
    async fn audit_entries(
        &self,
        organisation_id: OrganisationId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Entry>, StorageError> {
        const SELECT: &str = "SELECT record, digest FROM audit_entries \
             WHERE organisation_id = $1 AND number > $2 ORDER BY number LIMIT $3";
        let query = sqlx::query(SELECT)
            .bind(organisation_id.to_string())
            .bind(integer(after.min(i64::MAX as u64))?)
            .bind(i64::from(limit));
        let rows = query.fetch_all(&self.reader).await?;
        rows.iter().map(entry_of).collect()
    }

    async fn audit_head(&self, organisation_id: OrganisationId) -> Result<Head, StorageError> {
        let query = sqlx::query(HEAD).bind(organisation_id.to_string());
        query.fetch_optional(&self.reader).await?.as_ref().map_or(Ok(Head::default()), head_of)
    }

    async fn prune_audit(
        &self,
        organisation_id: OrganisationId,
        before: Timestamp,
    ) -> Result<u64, StorageError> {
        const OLDEST: &str =
            "SELECT record, digest FROM audit_entries WHERE organisation_id = $1 ORDER BY number LIMIT $2";
        const NEWEST_PRUNE: &str = "SELECT record, digest FROM audit_entries \
             WHERE organisation_id = $1 AND record LIKE $2 ORDER BY number DESC LIMIT 1";
        const DELETE: &str = "DELETE FROM audit_entries WHERE organisation_id = $1 AND number <= $2";
        let organisation = organisation_id.to_string();
        in_transaction!(self, |connection| {
            // Of two processes that prune at the same time, the second finds nothing to remove.
            let head =
                sqlx::query(self.dialect.locked(HEAD, Lock::Update, "audit_heads")).bind(&organisation);
            if head.fetch_optional(&mut *connection).await?.is_none() {
                return Ok(0);
            }
            let query = sqlx::query(OLDEST).bind(&organisation).bind(i64::from(PRUNED_MAX));
            let rows = query.fetch_all(&mut *connection).await?;
            let oldest = rows.iter().map(entry_of).collect::<Result<Vec<_>, _>>()?;
            let Some(first) = first_due(&oldest, before)? else { return Ok(0) };
            let newest_prune = match first.number {
                1 => None,
                _ => {
                    let mark = format!("%{}%", prune_mark());
                    let query = sqlx::query(NEWEST_PRUNE).bind(&organisation).bind(mark);
                    query.fetch_optional(&mut *connection).await?.as_ref().map(entry_of).transpose()?
                }
            };
            let Some((last, count)) = last_before(&oldest, newest_prune.as_ref(), before)? else {
                return Ok(0);
            };
            let query = sqlx::query(DELETE).bind(&organisation).bind(integer(last.entries)?);
            query.execute(&mut *connection).await?;
            record(connection, self.dialect, || Act::audit_pruned(organisation_id, last)).await?;
            Ok(count)
        })
    }
}

impl SqlStorage {
    /// Lists the organisations that have an audit log, also closed ones and that of the system administrators.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn audited_organisations(&self) -> Result<Vec<OrganisationId>, StorageError> {
        const SELECT: &str = "SELECT organisation_id FROM audit_heads ORDER BY organisation_id";
        let rows = sqlx::query(SELECT).fetch_all(&self.reader).await?;
        rows.iter().map(|row| Columns::new(row, "audit log").parsed("organisation_id")).collect()
    }
}

/// Appends an act to its organisation's log, if the transaction runs on behalf of an actor. Call this last in the
/// transaction: it locks the log until the transaction ends.
pub(super) async fn record(
    connection: &mut AnyConnection,
    dialect: Dialect,
    act: impl FnOnce() -> Act,
) -> Result<(), StorageError> {
    const FIRST: &str = "INSERT INTO audit_heads (organisation_id, number) VALUES ($1, 0) \
         ON CONFLICT (organisation_id) DO NOTHING";
    const INSERT: &str = "INSERT INTO audit_entries (organisation_id, number, record, digest) \
         VALUES ($1, $2, $3, $4)";
    const UPDATE: &str = "UPDATE audit_heads SET number = $2, digest = $3 WHERE organisation_id = $1";
    let Some(actor) = actor() else { return Ok(()) };
    let act = act();
    let organisation_id = act.organisation_id().to_string();
    let first = sqlx::query(FIRST).bind(&organisation_id).execute(&mut *connection).await;
    first.map_err(missing("organisation"))?;
    let head = sqlx::query(dialect.locked(HEAD, Lock::Update, "audit_heads")).bind(&organisation_id);
    let head = head_of(&head.fetch_one(&mut *connection).await?)?;
    let (entry, next) = act.entry(actor, head)?;
    let insert = sqlx::query(INSERT).bind(&organisation_id).bind(integer(next.entries)?);
    insert.bind(entry.record).bind(entry.digest.to_string()).execute(&mut *connection).await?;
    let update = sqlx::query(UPDATE).bind(&organisation_id).bind(integer(next.entries)?);
    update.bind(entry.digest.to_string()).execute(connection).await?;
    Ok(())
}

fn entry_of(row: &sqlx::any::AnyRow) -> Result<Entry, StorageError> {
    let columns = Columns::new(row, "audit entry");
    Ok(Entry { record: columns.text("record")?, digest: columns.parsed("digest")? })
}

fn head_of(row: &sqlx::any::AnyRow) -> Result<Head, StorageError> {
    let columns = Columns::new(row, "audit log");
    Ok(Head { entries: columns.count("number")?, digest: columns.optional_parsed("digest")? })
}
