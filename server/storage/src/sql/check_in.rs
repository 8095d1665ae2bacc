use async_trait::async_trait;
use folkmoot_coordinator::task::Candidate;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp};
use sqlx::{
    Any, AnyConnection, AssertSqlSafe,
    any::{AnyArguments, AnyRow},
    query::Query,
};

use super::{
    Dialect, SqlStorage,
    column::{Columns, integer, json, missing, moment},
    dialect::Lock,
    many::{ROWS_MAX, placeholders},
    transaction::in_transaction,
};
use crate::{AssignmentRecord, CheckInRecord, CheckInRepository, StorageError};

/// Check-ins are not synced to the disk: they last for seconds, and after a power failure every client checks in again.
#[async_trait]
impl CheckInRepository for SqlStorage {
    async fn check_in(&self, check_in: &CheckInRecord) -> Result<bool, StorageError> {
        if self.dialect == Dialect::Sqlite && self.offer_alone(check_in).await? {
            return Ok(true);
        }
        in_transaction!(self, begin_unsynced, |connection| {
            lock_client(self.dialect, &mut *connection, check_in).await?;
            offer(connection, check_in).await
        })
    }

    async fn withdraw_check_in(&self, client_id: ClientId) -> Result<bool, StorageError> {
        in_transaction!(self, begin_unsynced, |connection| {
            let query = sqlx::query("DELETE FROM check_ins WHERE client_id = $1").bind(client_id.to_string());
            Ok(query.execute(connection).await?.rows_affected() > 0)
        })
    }

    async fn withdraw_offer(&self, client_id: ClientId, expires_at: Timestamp) -> Result<bool, StorageError> {
        in_transaction!(self, begin_unsynced, |connection| {
            let query = sqlx::query("DELETE FROM check_ins WHERE client_id = $1 AND expires_at = $2")
                .bind(client_id.to_string())
                .bind(moment(expires_at)?);
            Ok(query.execute(connection).await?.rows_affected() > 0)
        })
    }

    async fn waiting(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StorageError> {
        const SELECT: &str = "SELECT client_id, example_count, attributes, sdk_version FROM check_ins \
             WHERE organisation_id = $1 AND population = $2 AND expires_at >= $3 ORDER BY client_id";
        let rows = sqlx::query(SELECT)
            .bind(organisation_id.to_string())
            .bind(population.as_str())
            .bind(moment(now)?)
            .fetch_all(&self.reader)
            .await?;
        rows.iter().map(candidate_of).collect()
    }

    async fn candidates(&self, client_ids: &[ClientId]) -> Result<Vec<Candidate>, StorageError> {
        let mut candidates = Vec::with_capacity(client_ids.len());
        for chunk in client_ids.chunks(ROWS_MAX) {
            let sql = format!(
                "SELECT client_id, example_count, attributes, sdk_version FROM check_ins WHERE client_id IN ({})",
                placeholders(1, chunk.len())
            );
            let ids = chunk.iter().map(ClientId::to_string);
            let query = ids.fold(sqlx::query(AssertSqlSafe(sql)), |query, id| query.bind(id));
            for row in query.fetch_all(&self.reader).await? {
                candidates.push(candidate_of(&row)?);
            }
        }
        candidates.sort_unstable_by_key(|candidate| candidate.client_id);
        Ok(candidates)
    }

    async fn delete_expired_check_ins(&self, now: Timestamp) -> Result<u64, StorageError> {
        in_transaction!(self, begin_unsynced, |connection| {
            let query = sqlx::query("DELETE FROM check_ins WHERE expires_at < $1").bind(moment(now)?);
            Ok(query.execute(connection).await?.rows_affected())
        })
    }
}

impl SqlStorage {
    /// Checks in with one statement, which asks SQLite's thread once instead of five times. Returns `false` and changes
    /// nothing if the client is revoked or has an outstanding assignment.
    async fn offer_alone(&self, check_in: &CheckInRecord) -> Result<bool, StorageError> {
        const ALONE: &str = "PRAGMA synchronous = NORMAL; INSERT OR REPLACE INTO check_ins (client_id, \
             organisation_id, population, example_count, attributes, sdk_version, checked_in_at, expires_at) \
             SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE NOT EXISTS (SELECT 1 FROM assignments WHERE client_id = $1 \
             AND status_name = 'outstanding') AND NOT EXISTS (SELECT 1 FROM clients WHERE id = $1 \
             AND revoked_at IS NOT NULL) RETURNING client_id";
        let offered = bound(ALONE, check_in)?.fetch_all(&self.writer).await;
        Ok(!offered.map_err(missing("client"))?.is_empty())
    }
}

/// Locks the client until the transaction ends. Returns an error if the client is revoked. A revocation that has
/// already started finishes first; a later revocation finds the check-in and deletes it.
async fn lock_client(
    dialect: Dialect,
    connection: &mut AnyConnection,
    check_in: &CheckInRecord,
) -> Result<(), StorageError> {
    const CLIENT: &str = "SELECT revoked_at FROM clients WHERE id = $1 AND organisation_id = $2";
    let client = sqlx::query(dialect.locked(CLIENT, Lock::Share, "clients"))
        .bind(check_in.candidate.client_id.to_string())
        .bind(check_in.organisation_id.to_string());
    if let Some(row) = client.fetch_optional(connection).await?
        && Columns::new(&row, "client").optional_moment("revoked_at")?.is_some()
    {
        return Err(StorageError::ClientRevoked);
    }
    Ok(())
}

/// Puts a client into the pool, unless it has an outstanding assignment. Returns whether the client is now in the pool.
async fn offer(connection: &mut AnyConnection, check_in: &CheckInRecord) -> Result<bool, StorageError> {
    const UPSERT: &str = "INSERT INTO check_ins (client_id, organisation_id, population, example_count, \
         attributes, sdk_version, checked_in_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (client_id) DO UPDATE SET (organisation_id, population, example_count, attributes, sdk_version, \
         checked_in_at, expires_at) = ($2, $3, $4, $5, $6, $7, $8)";
    const OPEN: &str = "SELECT id FROM assignments WHERE client_id = $1 AND status_name = 'outstanding'";
    let client_id = check_in.candidate.client_id.to_string();
    bound(UPSERT, check_in)?.execute(&mut *connection).await.map_err(missing("client"))?;
    // Look for an assignment only after the upsert: the upsert has waited for any selection that took the client's
    // previous check-in, so the assignment of that selection is visible.
    let outstanding = sqlx::query(OPEN).bind(&client_id).fetch_optional(&mut *connection).await?;
    if outstanding.is_some() {
        let query = sqlx::query("DELETE FROM check_ins WHERE client_id = $1").bind(&client_id);
        query.execute(connection).await?;
    }
    Ok(outstanding.is_none())
}

/// Binds the columns of a check-in.
fn bound(sql: &'static str, one: &CheckInRecord) -> Result<Query<'static, Any, AnyArguments>, StorageError> {
    Ok(sqlx::query(sql)
        .bind(one.candidate.client_id.to_string())
        .bind(one.organisation_id.to_string())
        .bind(one.population.to_string())
        .bind(integer(one.candidate.example_count)?)
        .bind(json(&one.candidate.attributes)?)
        .bind(one.candidate.sdk_version.clone())
        .bind(moment(one.at)?)
        .bind(moment(one.expires_at)?))
}

/// Removes the clients of these assignments from the pool.
///
/// # Errors
/// [`StorageError::RevisionConflict`] if one of the clients is not in the pool.
pub(super) async fn take_check_ins(
    connection: &mut AnyConnection,
    assignments: &[AssignmentRecord],
) -> Result<(), StorageError> {
    for chunk in assignments.chunks(ROWS_MAX) {
        let sql = format!("DELETE FROM check_ins WHERE client_id IN ({})", placeholders(1, chunk.len()));
        let clients = chunk.iter().map(|assignment| assignment.client_id.to_string());
        let query = clients.fold(sqlx::query(AssertSqlSafe(sql)), |query, client| query.bind(client));
        if query.execute(&mut *connection).await?.rows_affected() != chunk.len() as u64 {
            return Err(StorageError::RevisionConflict("cohort"));
        }
    }
    Ok(())
}

pub(super) fn candidate_of(row: &AnyRow) -> Result<Candidate, StorageError> {
    let columns = Columns::new(row, "check-in");
    Ok(Candidate {
        client_id: columns.parsed("client_id")?,
        example_count: columns.count("example_count")?,
        attributes: columns.json("attributes")?,
        sdk_version: columns.text("sdk_version")?,
    })
}
