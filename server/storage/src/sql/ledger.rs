//! The privacy ledger as rows.

use async_trait::async_trait;
use folkmoot_privacy::ledger::{Charge, Entry, EntryDigest, Release, Totals};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId};
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    column::{Columns, integer, json, missing, moment},
    dialect::{Dialect, Lock},
    population::{POPULATION, population_of},
    transaction::in_transaction,
};
use crate::{Leave, LedgerRepository, RoundCommit, StorageError};

#[async_trait]
impl LedgerRepository for SqlStorage {
    async fn ledger_entries(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Entry>, StorageError> {
        const SELECT: &str = "SELECT * FROM privacy_ledger WHERE organisation_id = $1 AND population = $2 \
             AND sequence > $3 ORDER BY sequence LIMIT $4";
        let rows = sqlx::query(SELECT)
            .bind(organisation_id.to_string())
            .bind(population.as_str())
            .bind(integer(after)?)
            .bind(i64::from(limit))
            .fetch_all(&self.reader)
            .await?;
        rows.iter().map(entry_of).collect()
    }

    async fn ledger_totals(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<Totals, StorageError> {
        const SELECT: &str = "SELECT task_id, charge, COUNT(*) AS releases FROM privacy_ledger \
             WHERE organisation_id = $1 AND population = $2 GROUP BY task_id, charge ORDER BY task_id, charge";
        let rows = sqlx::query(SELECT)
            .bind(organisation_id.to_string())
            .bind(population.as_str())
            .fetch_all(&self.reader)
            .await?;
        let mut totals = Totals::default();
        for row in &rows {
            let columns = Columns::new(row, "privacy ledger");
            let charge: Charge = columns.json("charge")?;
            totals.add(columns.parsed("task_id")?, charge, columns.count("releases")?);
        }
        Ok(totals)
    }

    async fn note_unreleased(&self, round_id: RoundId, blobs: &[BlobDigest]) -> Result<(), StorageError> {
        const UPSERT: &str = "INSERT INTO unreleased (round_id, blobs) VALUES ($1, $2) \
             ON CONFLICT (round_id) DO UPDATE SET blobs = excluded.blobs";
        let blobs = json(&blobs)?;
        in_transaction!(self, |connection| {
            sqlx::query(UPSERT).bind(round_id.to_string()).bind(&blobs).execute(connection).await?;
            Ok(())
        })
    }

    async fn unreleased(&self, round_id: RoundId) -> Result<Vec<BlobDigest>, StorageError> {
        let query =
            sqlx::query("SELECT blobs FROM unreleased WHERE round_id = $1").bind(round_id.to_string());
        match query.fetch_optional(&self.reader).await? {
            Some(row) => Columns::new(&row, "unreleased").json("blobs"),
            None => Ok(Vec::new()),
        }
    }

    async fn forget_unreleased(&self, round_id: RoundId) -> Result<(), StorageError> {
        in_transaction!(self, |connection| delete_unreleased(connection, round_id).await)
    }
}

/// Charges the version that a commit releases, in its transaction, if the leave to do so still holds.
pub(super) async fn charge(
    connection: &mut AnyConnection,
    dialect: Dialect,
    commit: &RoundCommit<'_>,
) -> Result<(), StorageError> {
    const LAST: &str = "SELECT sequence, digest FROM privacy_ledger WHERE organisation_id = $1 AND population = $2 \
         ORDER BY sequence DESC LIMIT 1";
    const INSERT: &str = "INSERT INTO privacy_ledger (organisation_id, population, sequence, task_id, round_id, \
         version, released_at, charge, previous, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT DO NOTHING";
    let Some(Leave { population, privacy, entries, charge }) = commit.leave else { return Ok(()) };
    // Held until the commit: neither is a budget set in between.
    let select = dialect.locked(POPULATION, Lock::Share, "populations");
    let query = sqlx::query(select).bind(commit.record.organisation_id.to_string()).bind(population.as_str());
    let settings = query.fetch_optional(&mut *connection).await?.as_ref().map(population_of).transpose()?;
    if settings.map(|record| record.privacy).unwrap_or_default() != privacy {
        return Err(StorageError::LeaveConflict);
    }
    let Some(charge) = charge else { return Ok(()) };
    let (organisation_id, round) = (commit.record.organisation_id.to_string(), &commit.record.round);
    let query = sqlx::query(LAST).bind(&organisation_id).bind(population.as_str());
    let last = match query.fetch_optional(&mut *connection).await? {
        Some(row) => {
            let columns = Columns::new(&row, "privacy ledger");
            let digest: EntryDigest = columns.parsed("digest")?;
            Some((columns.count("sequence")?, digest))
        }
        None => None,
    };
    if last.map_or(0, |(sequence, _)| sequence) != entries {
        return Err(StorageError::LeaveConflict);
    }
    let release = Release {
        task_id: round.task_id,
        round_id: round.id,
        version: commit.version.number,
        at: commit.now,
        charge: *charge,
    };
    let entry = Entry::following(last, population.clone(), release);
    let inserted = sqlx::query(INSERT)
        .bind(&organisation_id)
        .bind(population.as_str())
        .bind(integer(entry.sequence)?)
        .bind(round.task_id.to_string())
        .bind(round.id.to_string())
        .bind(integer(commit.version.number)?)
        .bind(moment(commit.now)?)
        .bind(json(charge)?)
        .bind(entry.previous.to_string())
        .bind(entry.digest.to_string())
        .execute(&mut *connection)
        .await
        .map_err(missing("task"))?;
    // Another task of the population was faster.
    if inserted.rows_affected() != 1 {
        return Err(StorageError::LeaveConflict);
    }
    delete_unreleased(connection, round.id).await
}

async fn delete_unreleased(connection: &mut AnyConnection, round_id: RoundId) -> Result<(), StorageError> {
    let query = sqlx::query("DELETE FROM unreleased WHERE round_id = $1").bind(round_id.to_string());
    query.execute(connection).await?;
    Ok(())
}

fn entry_of(row: &AnyRow) -> Result<Entry, StorageError> {
    let columns = Columns::new(row, "privacy ledger");
    Ok(Entry {
        population: columns.parsed("population")?,
        sequence: columns.count("sequence")?,
        release: Release {
            task_id: columns.parsed("task_id")?,
            round_id: columns.parsed("round_id")?,
            version: columns.count("version")?,
            at: columns.moment("released_at")?,
            charge: columns.json("charge")?,
        },
        previous: columns.parsed("previous")?,
        digest: columns.parsed("digest")?,
    })
}
