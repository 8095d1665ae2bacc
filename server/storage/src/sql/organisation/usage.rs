//! Quotas and usage of organisations. Only a database has several organisations.

use std::ops::RangeInclusive;

use folkmoot_coordinator::tenancy::{Day, Quotas, Usage};
use folkmoot_protocol::OrganisationId;
use sqlx::AnyConnection;

use super::super::{
    SqlStorage,
    audit::record,
    column::{Columns, integer, json},
    dialect::Lock,
    transaction::in_transaction,
};
use crate::{Holdings, StorageError, TenancyRecord, UsageRecord, audit::Act};

impl SqlStorage {
    /// Replaces an organisation's quotas.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if there is no such organisation.
    pub async fn set_quotas(&self, id: OrganisationId, quotas: &Quotas) -> Result<(), StorageError> {
        const UPDATE: &str = "UPDATE organisations SET quotas = $1 WHERE id = $2";
        in_transaction!(self, |connection| {
            let select = self.dialect.locked(QUOTAS, Lock::Update, "organisations");
            let row = sqlx::query(select).bind(id.to_string()).fetch_optional(&mut *connection).await?;
            let row = row.ok_or(StorageError::NotFound("organisation"))?;
            let before: Quotas = Columns::new(&row, "organisation").json("quotas")?;
            let query = sqlx::query(UPDATE).bind(json(quotas)?).bind(id.to_string());
            query.execute(&mut *connection).await?;
            let (before, after) = (json(&before)?, json(quotas)?);
            record(connection, self.dialect, || Act::quotas_set(id, before, after)).await
        })
    }

    /// Returns an organisation's quotas.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if there is no such organisation.
    pub async fn quotas(&self, id: OrganisationId) -> Result<Quotas, StorageError> {
        let row = sqlx::query(QUOTAS).bind(id.to_string()).fetch_optional(&self.reader).await?;
        let row = row.ok_or(StorageError::NotFound("organisation"))?;
        Columns::new(&row, "organisation").json("quotas")
    }

    /// Lists the quotas of all organisations that are not closed, and their usage on a day.
    pub async fn tenancies(&self, day: Day) -> Result<Vec<TenancyRecord>, StorageError> {
        const SELECT: &str = "SELECT id, quotas, COALESCE(requests, 0) AS requests, \
             COALESCE(received_bytes, 0) AS received_bytes, COALESCE(sent_bytes, 0) AS sent_bytes, \
             COALESCE(updates, 0) AS updates \
             FROM organisations LEFT JOIN organisation_usage ON organisation_id = id AND day = $1 \
             WHERE closed_at IS NULL";
        let rows = sqlx::query(SELECT).bind(integer(day.0)?).fetch_all(&self.reader).await?;
        let tenancy = |row| {
            let columns = Columns::new(row, "organisation");
            Ok(TenancyRecord {
                organisation_id: columns.parsed("id")?,
                quotas: columns.json("quotas")?,
                used: usage_of(&columns)?,
            })
        };
        rows.iter().map(tenancy).collect()
    }

    /// Adds to the usage of organisations on days, in one transaction.
    pub async fn add_usage(&self, used: &[(OrganisationId, Day, Usage)]) -> Result<(), StorageError> {
        const ADD: &str = "INSERT INTO organisation_usage \
             (organisation_id, day, requests, received_bytes, sent_bytes, updates) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (organisation_id, day) DO UPDATE SET \
             requests = organisation_usage.requests + excluded.requests, \
             received_bytes = organisation_usage.received_bytes + excluded.received_bytes, \
             sent_bytes = organisation_usage.sent_bytes + excluded.sent_bytes, \
             updates = organisation_usage.updates + excluded.updates";
        in_transaction!(self, |connection| {
            for (organisation_id, day, used) in used {
                sqlx::query(ADD)
                    .bind(organisation_id.to_string())
                    .bind(integer(day.0)?)
                    .bind(integer(used.requests)?)
                    .bind(integer(used.received_bytes)?)
                    .bind(integer(used.sent_bytes)?)
                    .bind(integer(used.updates)?)
                    .execute(&mut *connection)
                    .await?;
            }
            Ok(())
        })
    }

    /// Lists the usage of one or all organisations on days, oldest first. Days without usage are missing.
    pub async fn usage(
        &self,
        organisation_id: Option<OrganisationId>,
        days: RangeInclusive<Day>,
    ) -> Result<Vec<UsageRecord>, StorageError> {
        const SELECT: &str = "SELECT u.*, o.name FROM organisation_usage AS u \
             JOIN organisations AS o ON o.id = u.organisation_id \
             WHERE u.day BETWEEN $1 AND $2 AND ($3 OR u.organisation_id = $4) ORDER BY u.day, o.name";
        let day = |day: &Day| integer(day.0.min(i64::MAX as u64));
        let query = sqlx::query(SELECT)
            .bind(day(days.start())?)
            .bind(day(days.end())?)
            .bind(organisation_id.is_none())
            .bind(organisation_id.map(|id| id.to_string()).unwrap_or_default());
        let rows = query.fetch_all(&self.reader).await?;
        let usage = |row| {
            let columns = Columns::new(row, "usage");
            Ok(UsageRecord {
                organisation_id: columns.parsed("organisation_id")?,
                organisation: columns.text("name")?,
                day: Day(columns.count("day")?),
                used: usage_of(&columns)?,
            })
        };
        rows.iter().map(usage).collect()
    }

    /// Counts what an organisation has.
    pub async fn holdings(&self, id: OrganisationId) -> Result<Holdings, StorageError> {
        const SELECT: &str = "SELECT \
             (SELECT COUNT(*) FROM clients WHERE organisation_id = $1 AND revoked_at IS NULL) AS clients, \
             (SELECT COUNT(*) FROM tasks WHERE organisation_id = $1 \
                AND state_name NOT IN ('completed', 'cancelled')) AS tasks, \
             (SELECT CAST(COALESCE(SUM(model_bytes), 0) AS BIGINT) FROM models WHERE organisation_id = $1) AS model_bytes, \
             (SELECT CAST(COALESCE(SUM(weights_bytes), 0) AS BIGINT) FROM model_versions AS v \
                JOIN tasks AS t ON t.id = v.task_id WHERE t.organisation_id = $1) AS version_bytes";
        let row = sqlx::query(SELECT).bind(id.to_string()).fetch_one(&self.reader).await?;
        let columns = Columns::new(&row, "holdings");
        let stored_bytes = columns.count("model_bytes")?.saturating_add(columns.count("version_bytes")?);
        Ok(Holdings { clients: columns.count("clients")?, tasks: columns.count("tasks")?, stored_bytes })
    }
}

const QUOTAS: &str = "SELECT quotas FROM organisations WHERE id = $1";

/// Returns whether an organisation may enrol no more clients. Enrolments in progress do not count yet, so that PostgreSQL
/// may enrol as many more as there are at the same time.
pub(in crate::sql) async fn is_full(
    connection: &mut AnyConnection,
    id: OrganisationId,
) -> Result<bool, StorageError> {
    const COUNT: &str =
        "SELECT COUNT(*) AS clients FROM clients WHERE organisation_id = $1 AND revoked_at IS NULL";
    let row = sqlx::query(QUOTAS).bind(id.to_string()).fetch_one(&mut *connection).await?;
    let quotas: Quotas = Columns::new(&row, "organisation").json("quotas")?;
    let Some(clients_max) = quotas.clients_max else { return Ok(false) };
    let row = sqlx::query(COUNT).bind(id.to_string()).fetch_one(&mut *connection).await?;
    Ok(Columns::new(&row, "client").count("clients")? >= clients_max)
}

fn usage_of(columns: &Columns<'_>) -> Result<Usage, StorageError> {
    Ok(Usage {
        requests: columns.count("requests")?,
        received_bytes: columns.count("received_bytes")?,
        sent_bytes: columns.count("sent_bytes")?,
        updates: columns.count("updates")?,
    })
}
