use folkmoot_coordinator::{ClientKind, round::Round};
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp};
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, json, moment},
    dialect::Lock,
    rows::{
        client::client_of,
        population::{POPULATION, population_of},
    },
    transaction::in_transaction,
};
use crate::{
    AssignmentRecord, ClientRecord, DropReason, KindOutcome, SITES_MAX, SiteFailure, SiteRecord,
    SiteSoftware, StorageError, TokenRecord, audit::Act,
};

impl SqlStorage {
    /// Sets whether a population's clients are sites or a crowd, in one transaction. The kind cannot change once a client
    /// has enrolled.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such population.
    pub async fn set_client_kind(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        kind: ClientKind,
    ) -> Result<KindOutcome, StorageError> {
        const ENROLLED: &str =
            "SELECT id FROM clients WHERE organisation_id = $1 AND population = $2 LIMIT 1";
        const UPDATE: &str = "UPDATE populations SET clients = $1 WHERE organisation_id = $2 AND name = $3";
        in_transaction!(self, |connection| {
            // Enrolments lock the population, too.
            let select = self.dialect.locked(POPULATION, Lock::Update, "populations");
            let query = sqlx::query(select).bind(organisation_id.to_string()).bind(name.as_str());
            let row = query.fetch_optional(&mut *connection).await?;
            let before = population_of(&row.ok_or(StorageError::NotFound("population"))?)?.clients;
            if before == kind {
                return Ok(KindOutcome::Set);
            }
            let query = sqlx::query(ENROLLED).bind(organisation_id.to_string()).bind(name.as_str());
            if query.fetch_optional(&mut *connection).await?.is_some() {
                return Ok(KindOutcome::ClientsEnrolled);
            }
            let update = sqlx::query(UPDATE).bind(kind.name());
            update.bind(organisation_id.to_string()).bind(name.as_str()).execute(&mut *connection).await?;
            let act = || Act::client_kind_set(organisation_id, name, before, kind);
            record(connection, self.dialect, act).await?;
            Ok(KindOutcome::Set)
        })
    }

    /// Lists a population's sites by name, at most `limit`, also revoked ones. If `after` is given, only sites that follow
    /// that one.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn sites(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        limit: u32,
        after: Option<ClientId>,
    ) -> Result<Vec<SiteRecord>, StorageError> {
        const FIRST: &str = "SELECT clients.*, seen_at, sdk_version, attributes, failures, failure, failed_at \
             FROM clients JOIN site_activity ON site_activity.client_id = clients.id \
             WHERE clients.organisation_id = $1 AND population = $2 AND site_key IS NOT NULL \
             ORDER BY site_key, id LIMIT $3";
        const NEXT: &str = "SELECT clients.*, seen_at, sdk_version, attributes, failures, failure, failed_at \
             FROM clients JOIN site_activity ON site_activity.client_id = clients.id \
             WHERE clients.organisation_id = $1 AND population = $2 AND site_key IS NOT NULL AND (site_key, id) > \
             (SELECT site_key, id FROM clients WHERE organisation_id = $1 AND id = $4) \
             ORDER BY site_key, id LIMIT $3";
        let sql = if after.is_some() { NEXT } else { FIRST };
        let mut query = sqlx::query(sql)
            .bind(organisation_id.to_string())
            .bind(population.as_str())
            .bind(i64::from(limit));
        if let Some(after) = after {
            query = query.bind(after.to_string());
        }
        query.fetch_all(&self.reader).await?.iter().map(site_of).collect()
    }

    /// Records that the coordinator accepted a request from a site, and with a check-in also the site's software. Does
    /// nothing for a client of a crowd.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn site_seen(
        &self,
        client: &ClientRecord,
        software: Option<SiteSoftware<'_>>,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        const SEEN: &str = "UPDATE site_activity SET seen_at = $1 WHERE client_id = $2";
        const CHECKED_IN: &str = "UPDATE site_activity SET seen_at = $1, sdk_version = $3, attributes = $4 \
             WHERE client_id = $2";
        if client.site.is_none() {
            return Ok(());
        }
        in_transaction!(self, begin_unsynced, |connection| {
            let sql = if software.is_some() { CHECKED_IN } else { SEEN };
            let mut query = sqlx::query(sql).bind(moment(now)?).bind(client.id.to_string());
            if let Some(SiteSoftware { sdk_version, attributes }) = software {
                query = query.bind(sdk_version.to_owned()).bind(json(attributes)?);
            }
            query.execute(&mut *connection).await?;
            Ok(())
        })
    }
}

/// Returns whether a population has as many sites as are permitted.
pub(super) async fn has_all_sites(
    connection: &mut AnyConnection,
    token: &TokenRecord,
) -> Result<bool, StorageError> {
    const COUNT: &str = "SELECT COUNT(*) AS sites FROM clients WHERE organisation_id = $1 AND population = $2 \
         AND site_key IS NOT NULL AND revoked_at IS NULL";
    let query = sqlx::query(COUNT).bind(token.organisation_id.to_string()).bind(token.population.as_str());
    let row = query.fetch_one(connection).await?;
    Ok(Columns::new(&row, "client").count("sites")? >= SITES_MAX)
}

/// Begins to record the activity of a newly enrolled site.
pub(super) async fn insert_activity(
    connection: &mut AnyConnection,
    client: &ClientRecord,
) -> Result<(), StorageError> {
    const INSERT: &str = "INSERT INTO site_activity (client_id, organisation_id, seen_at, attributes, failures) \
         VALUES ($1, $2, $3, '{}', 0)";
    let query = sqlx::query(INSERT)
        .bind(client.id.to_string())
        .bind(client.organisation_id.to_string())
        .bind(moment(client.enrolled_at)?);
    query.execute(connection).await?;
    Ok(())
}

/// Records that an assignment ended without an update, if its client is a site.
pub(super) async fn record_site_failure(
    connection: &mut AnyConnection,
    assignment: &AssignmentRecord,
    reason: &DropReason,
    now: Timestamp,
) -> Result<(), StorageError> {
    const UPDATE: &str = "UPDATE site_activity SET failures = failures + 1, failure = $1, failed_at = $2 \
         WHERE client_id = $3";
    let query = sqlx::query(UPDATE).bind(json(reason)?).bind(moment(now)?);
    query.bind(assignment.client_id.to_string()).execute(connection).await?;
    Ok(())
}

/// Records that the overdue assignments of a round's task and purpose expire, those whose clients are sites. This is one statement,
/// because most assignments belong to crowds.
pub(super) async fn record_expiries_of_sites(
    connection: &mut AnyConnection,
    round: &Round,
    now: Timestamp,
) -> Result<(), StorageError> {
    const UPDATE: &str = "UPDATE site_activity SET failures = failures + 1, failure = $1, failed_at = $2 \
         WHERE client_id IN (SELECT client_id FROM assignments WHERE task_id = $3 AND purpose = $4 \
         AND status_name = 'outstanding' AND deadline <= $5)";
    let query = sqlx::query(UPDATE)
        .bind(json(&DropReason::Expired)?)
        .bind(moment(now)?)
        .bind(round.task_id.to_string())
        .bind(round.purpose.name())
        .bind(moment(now)?);
    query.execute(connection).await?;
    Ok(())
}

fn site_of(row: &AnyRow) -> Result<SiteRecord, StorageError> {
    let columns = Columns::new(row, "site");
    let reason: Option<DropReason> = columns.optional_json("failure")?;
    let at = columns.optional_moment("failed_at")?;
    Ok(SiteRecord {
        client: client_of(row)?,
        seen_at: columns.moment("seen_at")?,
        sdk_version: columns.optional_parsed("sdk_version")?,
        attributes: columns.json("attributes")?,
        failures: columns.count("failures")?,
        last_failure: reason.zip(at).map(|(reason, at)| SiteFailure { at, reason }),
    })
}
