mod rollout;

use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, PopulationName, Timestamp};
use sqlx::AnyConnection;

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, json, missing, moment},
    dialect::{Dialect, Lock},
    ledger::append,
    rows::population::{POPULATION, population_of},
    transaction::in_transaction,
};
use crate::{
    PopulationRecord, PopulationRepository, PrivacyChange, PrivacyOutcome, StorageError, audit::Act,
    ledger::settings_event,
};

#[async_trait]
impl PopulationRepository for SqlStorage {
    async fn ensure_organisation(
        &self,
        name: &str,
        id_if_new: OrganisationId,
        now: Timestamp,
    ) -> Result<OrganisationId, StorageError> {
        const INSERT: &str = "INSERT INTO organisations (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING";
        in_transaction!(self, |connection| {
            sqlx::query(INSERT)
                .bind(id_if_new.to_string())
                .bind(name)
                .bind(moment(now)?)
                .execute(&mut *connection)
                .await?;
            let query = sqlx::query("SELECT id FROM organisations WHERE name = $1").bind(name);
            let row = query.fetch_one(connection).await?;
            Columns::new(&row, "organisation").parsed("id")
        })
    }

    async fn ensure_population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        now: Timestamp,
    ) -> Result<PopulationRecord, StorageError> {
        const INSERT: &str = "INSERT INTO populations (organisation_id, name, created_at) VALUES ($1, $2, $3) \
             ON CONFLICT (organisation_id, name) DO NOTHING";
        in_transaction!(self, |connection| {
            sqlx::query(INSERT)
                .bind(organisation_id.to_string())
                .bind(name.as_str())
                .bind(moment(now)?)
                .execute(&mut *connection)
                .await
                .map_err(missing("organisation"))?;
            let query = sqlx::query(POPULATION).bind(organisation_id.to_string()).bind(name.as_str());
            population_of(&query.fetch_one(connection).await?)
        })
    }

    async fn population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
    ) -> Result<Option<PopulationRecord>, StorageError> {
        let query = sqlx::query(POPULATION).bind(organisation_id.to_string()).bind(name.as_str());
        query.fetch_optional(&self.reader).await?.as_ref().map(population_of).transpose()
    }

    async fn set_population_privacy(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        change: &PrivacyChange<'_>,
    ) -> Result<PrivacyOutcome, StorageError> {
        const ENROLLED: &str =
            "SELECT COUNT(*) AS enrolled FROM clients WHERE organisation_id = $1 AND population = $2";
        const UPDATE: &str = "UPDATE populations SET privacy = $1 WHERE organisation_id = $2 AND name = $3";
        in_transaction!(self, |connection| {
            let select = self.dialect.locked(POPULATION, Lock::Update, "populations");
            let query = sqlx::query(select).bind(organisation_id.to_string()).bind(name.as_str());
            let row = query.fetch_optional(&mut *connection).await?;
            let before = population_of(&row.ok_or(StorageError::NotFound("population"))?)?.privacy;
            let PrivacyChange { privacy, weakened, may_weaken, by, now } = *change;
            if before == privacy {
                return Ok(PrivacyOutcome::Set);
            }
            if before.unit != privacy.unit {
                let query = sqlx::query(ENROLLED).bind(organisation_id.to_string()).bind(name.as_str());
                let row = query.fetch_one(&mut *connection).await?;
                if Columns::new(&row, "client").count("enrolled")? > 0 {
                    return Ok(PrivacyOutcome::UnitDiffers);
                }
            }
            let is_weaker = privacy.is_weaker_than(&before);
            if !may_weaken && (is_weaker || privacy.protects_fewer_than(&before)) {
                return Ok(PrivacyOutcome::NotAllowed);
            }
            if is_weaker && weakened.is_none() {
                return Ok(PrivacyOutcome::Weaker);
            }
            let update = sqlx::query(UPDATE).bind(json(&privacy)?);
            update.bind(organisation_id.to_string()).bind(name.as_str()).execute(&mut *connection).await?;
            let event = settings_event(&privacy, weakened.filter(|_| is_weaker), by);
            append(connection, organisation_id, name, now, event, None).await?;
            let act = || Act::privacy_set(organisation_id, name, &before, change);
            record(connection, self.dialect, act).await?;
            Ok(PrivacyOutcome::Set)
        })
    }

    async fn populations(
        &self,
        organisation_id: OrganisationId,
    ) -> Result<Vec<PopulationRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM populations WHERE organisation_id = $1 ORDER BY name";
        let rows = sqlx::query(SELECT).bind(organisation_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(population_of).collect()
    }
}

/// Checks that an organisation is not closed, and prevents its closing before the transaction ends. Accepts an
/// organisation that does not exist.
pub(super) async fn check_open(
    connection: &mut AnyConnection,
    dialect: Dialect,
    id: OrganisationId,
) -> Result<(), StorageError> {
    const SELECT: &str = "SELECT closed_at FROM organisations WHERE id = $1";
    let query = sqlx::query(dialect.locked(SELECT, Lock::Share, "organisations")).bind(id.to_string());
    let row = query.fetch_optional(connection).await?;
    let closed_at =
        row.map(|row| Columns::new(&row, "organisation").optional_moment("closed_at")).transpose()?;
    if closed_at.flatten().is_some() { Err(StorageError::OrganisationClosed) } else { Ok(()) }
}

impl SqlStorage {
    /// Sets whether viewers may download the models of a population's tasks.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such population.
    pub async fn set_viewers_download(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        may_download: bool,
    ) -> Result<(), StorageError> {
        const UPDATE: &str =
            "UPDATE populations SET viewers_download = $1 WHERE organisation_id = $2 AND name = $3";
        in_transaction!(self, |connection| {
            let select = self.dialect.locked(POPULATION, Lock::Update, "populations");
            let query = sqlx::query(select).bind(organisation_id.to_string()).bind(name.as_str());
            let row = query.fetch_optional(&mut *connection).await?;
            let before = population_of(&row.ok_or(StorageError::NotFound("population"))?)?.viewers_download;
            let query = sqlx::query(UPDATE).bind(i64::from(may_download));
            query.bind(organisation_id.to_string()).bind(name.as_str()).execute(&mut *connection).await?;
            let act = || Act::viewers_download_set(organisation_id, name, before, may_download);
            record(connection, self.dialect, act).await
        })
    }
}
