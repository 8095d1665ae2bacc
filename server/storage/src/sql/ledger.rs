//! The privacy ledger in SQL.

use async_trait::async_trait;
use folkmoot_coordinator::privacy::PopulationPrivacy;
use folkmoot_privacy::ledger::{Charge, Collection, Entry, EntryDigest, Event, Release};
use folkmoot_protocol::{BlobDigest, OrganisationId, PopulationName, RoundId, Timestamp};
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    column::{Columns, integer, json, missing, moment, optional_integer},
    dialect::{Dialect, Lock},
    rows::population::{POPULATION, population_of},
    transaction::in_transaction,
};
use crate::{
    CollectionCharge, LedgerRepository, LedgerSum, ModelVersionRecord, RoundCommit, RoundRecord,
    StorageError, TaskRecord, ledger::task_event,
};

/// The kind of an entry that charges a released version.
const RELEASE: &str = "release";
/// The kind of an entry that charges a task whose clients add the noise.
const COLLECTION: &str = "collection";
/// The kind of an entry with the population's privacy settings.
const SETTINGS: &str = "settings";
/// The kind of an entry with a task's privacy promise.
const TASK: &str = "task";

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

    async fn ledger_sum(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<LedgerSum, StorageError> {
        // Use a single statement, so that the number of entries and the totals are over the same entries.
        const SELECT: &str = "SELECT kind, task_id, charge, COUNT(*) AS entries FROM privacy_ledger \
             WHERE organisation_id = $1 AND population = $2 GROUP BY kind, task_id, charge \
             ORDER BY task_id, charge, kind";
        let rows = sqlx::query(SELECT)
            .bind(organisation_id.to_string())
            .bind(population.as_str())
            .fetch_all(&self.reader)
            .await?;
        let mut sum = LedgerSum::default();
        for row in &rows {
            let columns = Columns::new(row, "privacy ledger");
            let entries = columns.count("entries")?;
            sum.entries += entries;
            let charge: Option<Charge> = columns.optional_json("charge")?;
            match (columns.text("kind")?.as_str(), charge) {
                (RELEASE, Some(charge)) => sum.totals.add(columns.parsed("task_id")?, charge, entries),
                (COLLECTION, Some(charge)) => sum.totals.begin(columns.parsed("task_id")?, charge),
                _ => {}
            }
        }
        Ok(sum)
    }

    async fn charge_collection(&self, charge: &CollectionCharge<'_>) -> Result<(), StorageError> {
        in_transaction!(self, |connection| charge_collection(connection, self.dialect, charge).await)
    }

    async fn note_unreleased(&self, record: &RoundRecord, blobs: &[BlobDigest]) -> Result<(), StorageError> {
        const UPSERT: &str = "INSERT INTO unreleased (round_id, blobs) VALUES ($1, $2) \
             ON CONFLICT (round_id) DO UPDATE SET blobs = excluded.blobs";
        const ROUND: &str = "SELECT id FROM rounds WHERE id = $1 AND revision = $2";
        let (round_id, revision) = (record.round.id, integer(record.revision)?);
        in_transaction!(self, |connection| {
            // Two processes may attempt to release the round at the same time.
            let round = sqlx::query(self.dialect.locked(ROUND, Lock::Update, "rounds"));
            let found =
                round.bind(round_id.to_string()).bind(revision).fetch_optional(&mut *connection).await?;
            found.ok_or(StorageError::RevisionConflict("round"))?;
            let mut noted = select_unreleased(connection, self.dialect, round_id).await?;
            noted.extend(blobs.iter().filter(|blob| !noted.contains(blob)).copied().collect::<Vec<_>>());
            let query = sqlx::query(UPSERT).bind(round_id.to_string()).bind(json(&noted)?);
            query.execute(connection).await?;
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

    async fn forget_unreleased(&self, round_id: RoundId, blobs: &[BlobDigest]) -> Result<(), StorageError> {
        in_transaction!(self, |connection| subtract_unreleased(connection, self.dialect, round_id, blobs)
            .await)
    }
}

/// Charges the version that a commit releases, in the commit's transaction. Fails if the permission is no longer valid.
pub(super) async fn charge(
    connection: &mut AnyConnection,
    dialect: Dialect,
    commit: &RoundCommit<'_>,
) -> Result<(), StorageError> {
    let Some(leave) = commit.leave else { return Ok(()) };
    let (organisation_id, round) = (commit.record.organisation_id, &commit.record.round);
    check_settings(connection, dialect, organisation_id, leave.population, leave.privacy, Lock::Share)
        .await?;
    let Some(charge) = leave.charge else { return Ok(()) };
    let release = Release {
        task_id: round.task_id,
        round_id: round.id,
        version: commit.version.number,
        charge: *charge,
    };
    let event = Event::Release(release);
    append(connection, organisation_id, leave.population, commit.now, event, Some(leave.entries)).await?;
    subtract_unreleased(connection, dialect, round.id, &commit.version.blobs()).await
}

async fn charge_collection(
    connection: &mut AnyConnection,
    dialect: Dialect,
    collection: &CollectionCharge<'_>,
) -> Result<(), StorageError> {
    const FIND: &str =
        "SELECT sequence FROM privacy_ledger WHERE task_id = $1 AND kind = 'collection' LIMIT 1";
    let CollectionCharge { organisation_id, task_id, round_id, leave, now } = *collection;
    let Some(charge) = leave.charge else { return Ok(()) };
    let found = sqlx::query(FIND).bind(task_id.to_string()).fetch_optional(&mut *connection).await?;
    if found.is_some() {
        return Ok(());
    }
    check_settings(connection, dialect, organisation_id, leave.population, leave.privacy, Lock::Share)
        .await?;
    let event = Event::Collection(Collection { task_id, round_id, charge: *charge });
    append(connection, organisation_id, leave.population, now, event, Some(leave.entries)).await
}

/// Records the terms of a new task, whose row and population exist.
pub(super) async fn write_terms(
    connection: &mut AnyConnection,
    dialect: Dialect,
    task: &TaskRecord,
    first: &ModelVersionRecord,
) -> Result<(), StorageError> {
    const ANY: &str =
        "SELECT sequence FROM privacy_ledger WHERE organisation_id = $1 AND population = $2 LIMIT 1";
    let (organisation_id, population) = (task.organisation_id, &task.description.population);
    // This lock prevents other entries until the transaction ends.
    let select = dialect.locked(POPULATION, Lock::Update, "populations");
    let query = sqlx::query(select).bind(organisation_id.to_string()).bind(population.as_str());
    query.fetch_optional(&mut *connection).await?;
    let query = sqlx::query(ANY).bind(organisation_id.to_string()).bind(population.as_str());
    let has_entries = query.fetch_optional(&mut *connection).await?.is_some();
    match task_event(task, first, has_entries) {
        Some(event) => append(connection, organisation_id, population, task.created_at, event, None).await,
        None => Ok(()),
    }
}

/// Checks that the population's privacy settings are the expected ones. Locks the settings until the transaction ends,
/// so that no budget can be set in between.
pub(super) async fn check_settings(
    connection: &mut AnyConnection,
    dialect: Dialect,
    organisation_id: OrganisationId,
    population: &PopulationName,
    seen: PopulationPrivacy,
    lock: Lock,
) -> Result<(), StorageError> {
    let select = dialect.locked(POPULATION, lock, "populations");
    let query = sqlx::query(select).bind(organisation_id.to_string()).bind(population.as_str());
    let settings = query.fetch_optional(connection).await?.as_ref().map(population_of).transpose()?;
    match settings.map(|record| record.privacy).unwrap_or_default() == seen {
        true => Ok(()),
        false => Err(StorageError::LeaveConflict),
    }
}

/// Returns the number of entries in a population's ledger, which is the sequence number of the last one.
pub(super) async fn count_entries(
    connection: &mut AnyConnection,
    organisation_id: OrganisationId,
    population: &PopulationName,
) -> Result<u64, StorageError> {
    const COUNT: &str = "SELECT COALESCE(MAX(sequence), 0) AS entries FROM privacy_ledger \
         WHERE organisation_id = $1 AND population = $2";
    let query = sqlx::query(COUNT).bind(organisation_id.to_string()).bind(population.as_str());
    Columns::new(&query.fetch_one(connection).await?, "privacy ledger").count("entries")
}

/// Appends an entry to a population's ledger, if the ledger still has the expected number of entries. The caller must
/// have locked the population's row.
///
/// # Errors
/// [`StorageError::LeaveConflict`] if another entry was appended meanwhile.
pub(super) async fn append(
    connection: &mut AnyConnection,
    organisation_id: OrganisationId,
    population: &PopulationName,
    at: Timestamp,
    event: Event,
    entries: Option<u64>,
) -> Result<(), StorageError> {
    const LAST: &str = "SELECT sequence, digest FROM privacy_ledger WHERE organisation_id = $1 AND population = $2 \
         ORDER BY sequence DESC LIMIT 1";
    const INSERT: &str = "INSERT INTO privacy_ledger (organisation_id, population, sequence, kind, task_id, round_id, \
         version, happened_at, charge, detail, previous, digest) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT DO NOTHING";
    let query = sqlx::query(LAST).bind(organisation_id.to_string()).bind(population.as_str());
    let last = match query.fetch_optional(&mut *connection).await? {
        Some(row) => {
            let columns = Columns::new(&row, "privacy ledger");
            let digest: EntryDigest = columns.parsed("digest")?;
            Some((columns.count("sequence")?, digest))
        }
        None => None,
    };
    if entries.is_some_and(|entries| last.map_or(0, |(sequence, _)| sequence) != entries) {
        return Err(StorageError::LeaveConflict);
    }
    let entry = Entry::following(last, population.clone(), at, event);
    let (kind, task_id, round_id, version) = match &entry.event {
        Event::Release(Release { task_id, round_id, version, .. }) => {
            (RELEASE, Some(task_id), Some(round_id), Some(*version))
        }
        Event::Collection(Collection { task_id, round_id, .. }) => {
            (COLLECTION, Some(task_id), Some(round_id), None)
        }
        Event::Settings(_) => (SETTINGS, None, None, None),
        Event::Task(terms) => (TASK, Some(&terms.task_id), None, None),
    };
    let charge = entry.event.charged().map(|(_, charge)| json(&charge)).transpose()?;
    let detail = if charge.is_none() { Some(json(&entry.event)?) } else { None };
    let inserted = sqlx::query(INSERT)
        .bind(organisation_id.to_string())
        .bind(population.as_str())
        .bind(integer(entry.sequence)?)
        .bind(kind)
        .bind(task_id.map(ToString::to_string))
        .bind(round_id.map(ToString::to_string))
        .bind(optional_integer(version)?)
        .bind(moment(entry.at)?)
        .bind(charge)
        .bind(detail)
        .bind(entry.previous.to_string())
        .bind(entry.digest.to_string())
        .execute(&mut *connection)
        .await
        .map_err(missing("task"))?;
    // No row is inserted if another task of the population has appended an entry first.
    if inserted.rows_affected() == 1 { Ok(()) } else { Err(StorageError::LeaveConflict) }
}

/// Reads the blobs that were recorded for a round, and locks the record.
async fn select_unreleased(
    connection: &mut AnyConnection,
    dialect: Dialect,
    round_id: RoundId,
) -> Result<Vec<BlobDigest>, StorageError> {
    const SELECT: &str = "SELECT blobs FROM unreleased WHERE round_id = $1";
    let query = sqlx::query(dialect.locked(SELECT, Lock::Update, "unreleased")).bind(round_id.to_string());
    match query.fetch_optional(connection).await? {
        Some(row) => Columns::new(&row, "unreleased").json("blobs"),
        None => Ok(Vec::new()),
    }
}

async fn subtract_unreleased(
    connection: &mut AnyConnection,
    dialect: Dialect,
    round_id: RoundId,
    blobs: &[BlobDigest],
) -> Result<(), StorageError> {
    let mut noted = select_unreleased(connection, dialect, round_id).await?;
    noted.retain(|blob| !blobs.contains(blob));
    let statement = match noted.is_empty() {
        true => "DELETE FROM unreleased WHERE round_id = $1 AND $2 = '[]'",
        false => "UPDATE unreleased SET blobs = $2 WHERE round_id = $1",
    };
    let query = sqlx::query(statement).bind(round_id.to_string()).bind(json(&noted)?);
    query.execute(connection).await?;
    Ok(())
}

fn entry_of(row: &AnyRow) -> Result<Entry, StorageError> {
    let columns = Columns::new(row, "privacy ledger");
    let charged = || -> Result<_, StorageError> {
        Ok((columns.parsed("task_id")?, columns.parsed("round_id")?, columns.json("charge")?))
    };
    let event = match columns.text("kind")?.as_str() {
        RELEASE => {
            let (task_id, round_id, charge) = charged()?;
            Event::Release(Release { task_id, round_id, version: columns.count("version")?, charge })
        }
        COLLECTION => {
            let (task_id, round_id, charge) = charged()?;
            Event::Collection(Collection { task_id, round_id, charge })
        }
        SETTINGS | TASK => columns.json("detail")?,
        kind => {
            let detail = format!("an entry of the kind {kind}");
            return Err(StorageError::Corrupt { what: "privacy ledger", detail });
        }
    };
    Ok(Entry {
        population: columns.parsed("population")?,
        sequence: columns.count("sequence")?,
        at: columns.moment("happened_at")?,
        event,
        previous: columns.parsed("previous")?,
        digest: columns.parsed("digest")?,
    })
}
