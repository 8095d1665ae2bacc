use folkmoot_coordinator::rollout::{Reports, Share};
use folkmoot_protocol::{ChannelName, OrganisationId, PopulationName, Timestamp};
use sqlx::{AnyConnection, any::AnyRow};

use crate::{
    ClientRecord, ROLLOUTS_OFFERED_MAX, RolloutChange, RolloutRecord, StorageError,
    audit::Act,
    sql::{
        SqlStorage,
        audit::record,
        base::blobs::use_version,
        column::{Columns, integer, missing, moment},
        dialect::Lock,
        rows::population::POPULATION,
        transaction::in_transaction,
    },
};

/// The number of rollouts of a channel, from the newest, about which devices may report.
const REPORTED_ROLLOUTS: u64 = 2;

const ROLLOUT: &str = "SELECT * FROM rollouts WHERE organisation_id = $1 AND population = $2 AND number = $3";

impl SqlStorage {
    /// Stores a rollout and returns it with its number.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if there is no such population or model version, and
    /// [`StorageError::RevisionConflict`] if the version's weights were dropped.
    pub async fn create_rollout(&self, rollout: &RolloutRecord) -> Result<RolloutRecord, StorageError> {
        const NEXT: &str = "SELECT COALESCE(MAX(number), 0) + 1 AS next FROM rollouts \
             WHERE organisation_id = $1 AND population = $2";
        const INSERT: &str = "INSERT INTO rollouts (organisation_id, population, number, channel, task_id, version, share, \
             failures_max, held, loaded, failed, last_failure, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL, 0, 0, NULL, $9)";
        let (organisation, population) = (rollout.organisation_id.to_string(), rollout.population.as_str());
        in_transaction!(self, |connection| {
            // Two rollouts at once must not get the same number.
            let select = self.dialect.locked(POPULATION, Lock::Update, "populations");
            let row = sqlx::query(select).bind(&organisation).bind(population);
            row.fetch_optional(&mut *connection).await?.ok_or(StorageError::NotFound("population"))?;
            use_version(connection, self.dialect, rollout.task_id, rollout.version).await?;
            let row = sqlx::query(NEXT).bind(&organisation).bind(population);
            let row = row.fetch_one(&mut *connection).await?;
            let number = Columns::new(&row, "rollout").count("next")?;
            let query = sqlx::query(INSERT)
                .bind(&organisation)
                .bind(population)
                .bind(integer(number)?)
                .bind(rollout.channel.as_str())
                .bind(rollout.task_id.to_string())
                .bind(integer(rollout.version)?)
                .bind(i64::from(rollout.share.millionths()))
                .bind(i64::from(rollout.failures_max.millionths()))
                .bind(moment(rollout.created_at)?);
            query.execute(&mut *connection).await.map_err(missing("model version"))?;
            let stored = RolloutRecord { number, ..rollout.clone() };
            record(connection, self.dialect, || Act::rollout_created(&stored)).await?;
            Ok(stored)
        })
    }

    /// Deletes what single devices have reported about the rollouts of a channel before the last one; the counts stay. Each
    /// transaction deletes at most 5,000 reports, so that others can write in between.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn forget_old_reports(&self, rollout: &RolloutRecord) -> Result<(), StorageError> {
        const OLD: &str = "SELECT number FROM rollouts WHERE organisation_id = $1 AND population = $2 AND channel = $3 \
             ORDER BY number DESC LIMIT 1000 OFFSET $4";
        const FORGET: &str = "DELETE FROM rollout_reports WHERE organisation_id = $1 AND population = $2 AND number = $3 \
             AND client_id IN (SELECT client_id FROM rollout_reports \
             WHERE organisation_id = $1 AND population = $2 AND number = $3 LIMIT 5000)";
        let (organisation, population) = (rollout.organisation_id.to_string(), rollout.population.as_str());
        let old = sqlx::query(OLD).bind(&organisation).bind(population).bind(rollout.channel.as_str());
        for row in old.bind(integer(REPORTED_ROLLOUTS)?).fetch_all(&self.reader).await? {
            let number = integer(Columns::new(&row, "rollout").count("number")?)?;
            loop {
                let deleted = in_transaction!(self, |connection| {
                    let query = sqlx::query(FORGET).bind(&organisation).bind(population).bind(number);
                    Ok::<_, StorageError>(query.execute(&mut *connection).await?.rows_affected())
                })?;
                if deleted == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Lists a population's rollouts, newest first, at most `limit`. If `before` is given, only those with a lower number.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn rollouts(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<RolloutRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM rollouts WHERE organisation_id = $1 AND population = $2 AND number < $3 \
             ORDER BY number DESC LIMIT $4";
        let before = before.map_or(Ok(i64::MAX), integer)?;
        let query = sqlx::query(SELECT).bind(organisation_id.to_string()).bind(population.as_str());
        let rows = query.bind(before).bind(i64::from(limit)).fetch_all(&self.reader).await?;
        rows.iter().map(rollout_of).collect()
    }

    /// Lists a channel's rollouts that are not held, newest first, down to the first one for all devices, and at most
    /// [`ROLLOUTS_OFFERED_MAX`].
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn open_rollouts(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        channel: &ChannelName,
    ) -> Result<Vec<RolloutRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM rollouts WHERE organisation_id = $1 AND population = $2 AND channel = $3 \
             AND held IS NULL AND number >= COALESCE((SELECT MAX(number) FROM rollouts WHERE organisation_id = $1 \
             AND population = $2 AND channel = $3 AND held IS NULL AND share = $5), 0) ORDER BY number DESC LIMIT $4";
        let query = sqlx::query(SELECT).bind(organisation_id.to_string()).bind(population.as_str());
        let query = query.bind(channel.as_str()).bind(i64::from(ROLLOUTS_OFFERED_MAX));
        let query = query.bind(i64::from(Share::ALL.millionths()));
        query.fetch_all(&self.reader).await?.iter().map(rollout_of).collect()
    }

    /// Lists the channels of a population in which a rollout is not held, by name, at most [`ROLLOUTS_OFFERED_MAX`].
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn rollout_channels(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<Vec<ChannelName>, StorageError> {
        const SELECT: &str = "SELECT DISTINCT channel FROM rollouts WHERE organisation_id = $1 AND population = $2 \
             AND held IS NULL ORDER BY channel LIMIT $3";
        let query = sqlx::query(SELECT).bind(organisation_id.to_string()).bind(population.as_str());
        let rows = query.bind(i64::from(ROLLOUTS_OFFERED_MAX)).fetch_all(&self.reader).await?;
        rows.iter().map(|row| Columns::new(row, "rollout").parsed("channel")).collect()
    }

    /// Finds a rollout.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn rollout(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        number: u64,
    ) -> Result<Option<RolloutRecord>, StorageError> {
        let query = sqlx::query(ROLLOUT).bind(organisation_id.to_string()).bind(population.as_str());
        let row = query.bind(integer(number)?).fetch_optional(&self.reader).await?;
        row.as_ref().map(rollout_of).transpose()
    }

    /// Changes a rollout, and returns it.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the population has no such rollout.
    pub async fn change_rollout(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        number: u64,
        change: &RolloutChange,
    ) -> Result<RolloutRecord, StorageError> {
        in_transaction!(self, |connection| {
            let select = self.dialect.locked(ROLLOUT, Lock::Update, "rollouts");
            let query = sqlx::query(select).bind(organisation_id.to_string()).bind(population.as_str());
            let row = query.bind(integer(number)?).fetch_optional(&mut *connection).await?;
            let before = rollout_of(&row.ok_or(StorageError::NotFound("rollout"))?)?;
            let resumes = change.held == Some(None) && before.held.is_some();
            let held = match &change.held {
                // The first reason says more than that somebody agrees.
                Some(Some(reason)) => Some(before.held.clone().unwrap_or_else(|| reason.clone())),
                Some(None) => None,
                None => before.held.clone(),
            };
            let after = RolloutRecord {
                share: change.share.unwrap_or(before.share),
                failures_max: change.failures_max.unwrap_or(before.failures_max),
                held,
                // Failures that an operator has seen do not hold the rollout again.
                reports: if resumes { Reports::default() } else { before.reports },
                ..before.clone()
            };
            update(connection, &after).await?;
            record(connection, self.dialect, || Act::rollout_changed(&before, &after)).await?;
            Ok(after)
        })
    }

    /// Counts what a device reports about a rollout, instead of what it reported before, and holds the rollout if too many
    /// devices failed. Returns the rollout if this held it. A report about a rollout that is held or old, or whose share does
    /// not include the device, changes nothing.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the device's population has no such rollout.
    pub async fn report_rollout(
        &self,
        client: &ClientRecord,
        number: u64,
        failure: Option<&str>,
    ) -> Result<Option<RolloutRecord>, StorageError> {
        const NEWER: &str = "SELECT COUNT(*) AS newer FROM rollouts \
             WHERE organisation_id = $1 AND population = $2 AND channel = $3 AND number > $4";
        const BEFORE: &str = "SELECT failed FROM rollout_reports \
             WHERE organisation_id = $1 AND population = $2 AND number = $3 AND client_id = $4";
        const PUT: &str = "INSERT INTO rollout_reports (organisation_id, population, number, client_id, failed) \
             VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (organisation_id, population, number, client_id) DO UPDATE SET failed = excluded.failed";
        let organisation = client.organisation_id.to_string();
        let population = client.population.as_str();
        in_transaction!(self, |connection| {
            // The lock also lets reports of one device follow each other.
            let select = self.dialect.locked(ROLLOUT, Lock::Update, "rollouts");
            let query = sqlx::query(select).bind(&organisation).bind(population).bind(integer(number)?);
            let row = query.fetch_optional(&mut *connection).await?;
            let mut rollout = rollout_of(&row.ok_or(StorageError::NotFound("rollout"))?)?;
            let query = sqlx::query(NEWER).bind(&organisation).bind(population);
            let query = query.bind(rollout.channel.as_str()).bind(integer(number)?);
            let newer = Columns::new(&query.fetch_one(&mut *connection).await?, "rollout").count("newer")?;
            let is_offered = rollout.share.includes(&client.population, number, client.id);
            if !is_offered || rollout.held.is_some() || newer >= REPORTED_ROLLOUTS {
                return Ok(None);
            }
            let query = sqlx::query(BEFORE).bind(&organisation).bind(population).bind(integer(number)?);
            let row = query.bind(client.id.to_string()).fetch_optional(&mut *connection).await?;
            let failed_before =
                row.map(|row| Columns::new(&row, "rollout report").count("failed")).transpose()?;
            let has_failed = u64::from(failure.is_some());
            if failed_before == Some(has_failed) {
                return Ok(None);
            }
            let query = sqlx::query(PUT).bind(&organisation).bind(population).bind(integer(number)?);
            query.bind(client.id.to_string()).bind(integer(has_failed)?).execute(&mut *connection).await?;
            rollout.count(failed_before, failure);
            let is_held_now = failure.is_some() && rollout.reports.must_hold(rollout.failures_max);
            if is_held_now {
                let Reports { loaded, failed } = rollout.reports;
                let reported = loaded + failed;
                rollout.held = Some(format!("{failed} of {reported} devices could not use the model"));
            }
            update(connection, &rollout).await?;
            if !is_held_now {
                return Ok(None);
            }
            record(connection, self.dialect, || Act::rollout_held(&rollout)).await?;
            Ok(Some(rollout))
        })
    }
}

impl RolloutRecord {
    /// Replaces a device's report by its new one.
    fn count(&mut self, failed_before: Option<u64>, failure: Option<&str>) {
        let Reports { loaded, failed } = &mut self.reports;
        match failed_before {
            Some(0) => *loaded = loaded.saturating_sub(1),
            Some(_) => *failed = failed.saturating_sub(1),
            None => {}
        }
        match failure {
            Some(failure) => {
                *failed += 1;
                self.last_failure = Some(failure.to_owned());
            }
            None => *loaded += 1,
        }
    }
}

async fn update(connection: &mut AnyConnection, rollout: &RolloutRecord) -> Result<(), StorageError> {
    const UPDATE: &str = "UPDATE rollouts SET share = $4, failures_max = $5, held = $6, loaded = $7, failed = $8, \
         last_failure = $9 WHERE organisation_id = $1 AND population = $2 AND number = $3";
    let query = sqlx::query(UPDATE)
        .bind(rollout.organisation_id.to_string())
        .bind(rollout.population.as_str())
        .bind(integer(rollout.number)?)
        .bind(i64::from(rollout.share.millionths()))
        .bind(i64::from(rollout.failures_max.millionths()))
        .bind(rollout.held.as_ref())
        .bind(integer(rollout.reports.loaded)?)
        .bind(integer(rollout.reports.failed)?)
        .bind(rollout.last_failure.as_ref());
    query.execute(connection).await?;
    Ok(())
}

fn rollout_of(row: &AnyRow) -> Result<RolloutRecord, StorageError> {
    let columns = Columns::new(row, "rollout");
    let share = |name| {
        let corrupt = || StorageError::Corrupt { what: "rollout", detail: format!("column {name}: above 1") };
        Share::from_millionths(columns.count(name)?).ok_or_else(corrupt)
    };
    Ok(RolloutRecord {
        organisation_id: columns.parsed("organisation_id")?,
        population: columns.parsed("population")?,
        number: columns.count("number")?,
        channel: columns.parsed("channel")?,
        task_id: columns.parsed("task_id")?,
        version: columns.count("version")?,
        share: share("share")?,
        failures_max: share("failures_max")?,
        held: columns.optional_parsed("held")?,
        reports: Reports { loaded: columns.count("loaded")?, failed: columns.count("failed")? },
        last_failure: columns.optional_parsed("last_failure")?,
        created_at: Timestamp(columns.count("created_at")?),
    })
}
