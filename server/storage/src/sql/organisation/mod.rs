//! Organisations, which share a coordinator and see nothing of each other. Only a database has several.

pub(in crate::sql) mod usage;

use folkmoot_protocol::{OrganisationId, Timestamp};
use sqlx::any::AnyRow;

use super::{
    SqlStorage, api_key,
    audit::record,
    column::{Columns, moment},
    transaction::in_transaction,
};
use crate::{
    ApiKeyRecord, ClosedOrganisation, OrganisationRecord, SYSTEM_ORGANISATION, StorageError, audit::Act,
};

impl SqlStorage {
    /// Creates an organisation and its first API key, in one transaction.
    ///
    /// # Errors
    /// [`StorageError::NameTaken`] if there is an organisation with this name, even a closed one.
    pub async fn create_organisation(
        &self,
        organisation: &OrganisationRecord,
        first_key: &ApiKeyRecord,
    ) -> Result<(), StorageError> {
        const INSERT: &str =
            "INSERT INTO organisations (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        in_transaction!(self, |connection| {
            let inserted = sqlx::query(INSERT)
                .bind(organisation.id.to_string())
                .bind(&organisation.name)
                .bind(moment(organisation.created_at)?)
                .execute(&mut *connection)
                .await?;
            if inserted.rows_affected() != 1 {
                return Err(StorageError::NameTaken("organisation"));
            }
            record(connection, self.dialect, || Act::organisation_created(organisation)).await?;
            api_key::insert(connection, self.dialect, first_key).await
        })
    }

    /// Lists all organisations but that of the system administrators, oldest first.
    pub async fn organisations(&self) -> Result<Vec<OrganisationRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM organisations WHERE name <> $1 ORDER BY created_at, name";
        let rows = sqlx::query(SELECT).bind(SYSTEM_ORGANISATION).fetch_all(&self.reader).await?;
        rows.iter().map(organisation_of).collect()
    }

    /// Returns the name of an organisation, or `None` if there is none with this id.
    pub async fn organisation_name(&self, id: OrganisationId) -> Result<Option<String>, StorageError> {
        const SELECT: &str = "SELECT name FROM organisations WHERE id = $1";
        let row = sqlx::query(SELECT).bind(id.to_string()).fetch_optional(&self.reader).await?;
        row.map(|row| Columns::new(&row, "organisation").text("name")).transpose()
    }

    /// Closes an organisation forever: revokes its API keys, tokens and clients, and ends the sessions of its people, in one
    /// transaction. A concurrent request that creates one of them either commits first, so that its result is revoked
    /// too, or fails. The data stays. Closing again has no effect.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if there is no such organisation.
    pub async fn close_organisation(
        &self,
        id: OrganisationId,
        now: Timestamp,
    ) -> Result<ClosedOrganisation, StorageError> {
        const CLOSE: &str = "UPDATE organisations SET closed_at = COALESCE(closed_at, $1) WHERE id = $2";
        const TOKENS: &str =
            "UPDATE tokens SET revoked_at = $1 WHERE organisation_id = $2 AND revoked_at IS NULL";
        const CLIENTS: &str =
            "UPDATE clients SET revoked_at = $1 WHERE organisation_id = $2 AND revoked_at IS NULL";
        const KEYS: &str =
            "UPDATE api_keys SET revoked_at = $1 WHERE organisation_id = $2 AND revoked_at IS NULL";
        in_transaction!(self, |connection| {
            let changed = async |connection: &mut sqlx::AnyConnection, sql| -> Result<u64, StorageError> {
                let query = sqlx::query(sql).bind(moment(now)?).bind(id.to_string());
                Ok(query.execute(connection).await?.rows_affected())
            };
            if changed(connection, CLOSE).await? == 0 {
                return Err(StorageError::NotFound("organisation"));
            }
            // An enrolment locks the token first, too.
            let closed = ClosedOrganisation {
                tokens: changed(connection, TOKENS).await?,
                clients: changed(connection, CLIENTS).await?,
                api_keys: changed(connection, KEYS).await?,
            };
            let query = sqlx::query("DELETE FROM sessions WHERE organisation_id = $1").bind(id.to_string());
            query.execute(&mut *connection).await?;
            // Selection must not draw revoked clients.
            let query = sqlx::query("DELETE FROM check_ins WHERE organisation_id = $1").bind(id.to_string());
            query.execute(&mut *connection).await?;
            record(connection, self.dialect, || Act::organisation_closed(id, closed)).await?;
            Ok(closed)
        })
    }
}

fn organisation_of(row: &AnyRow) -> Result<OrganisationRecord, StorageError> {
    let columns = Columns::new(row, "organisation");
    Ok(OrganisationRecord {
        id: columns.parsed("id")?,
        name: columns.text("name")?,
        created_at: columns.moment("created_at")?,
        closed_at: columns.optional_moment("closed_at")?,
        quotas: columns.json("quotas")?,
    })
}
