use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, Timestamp};
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, integer, json, missing, moment, optional_integer},
    population::check_open,
    transaction::in_transaction,
};
use crate::{StorageError, TokenRecord, TokenRepository, audit::Act};

#[async_trait]
impl TokenRepository for SqlStorage {
    async fn create_token(&self, token: &TokenRecord) -> Result<(), StorageError> {
        const INSERT: &str = "INSERT INTO tokens (id, organisation_id, population, secret_hash, uses_max, uses, \
             expires_at, revoked_at, created_at, user_key, closed_at, jwt_keys, name) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
             ON CONFLICT (id) DO NOTHING";
        in_transaction!(self, |connection| {
            check_open(connection, self.dialect, token.organisation_id).await?;
            let inserted = sqlx::query(INSERT)
                .bind(&token.id)
                .bind(token.organisation_id.to_string())
                .bind(token.population.as_str())
                .bind(token.secret_hash.to_vec())
                .bind(optional_integer(token.uses_max)?)
                .bind(integer(token.uses)?)
                .bind(optional_integer(token.expires_at.map(|at| at.0))?)
                .bind(optional_integer(token.revoked_at.map(|at| at.0))?)
                .bind(moment(token.created_at)?)
                .bind(token.user_key.map(String::from))
                .bind(optional_integer(token.closed_at.map(|at| at.0))?)
                .bind(json(&token.jwt_keys)?)
                .bind(token.name.clone())
                .execute(&mut *connection)
                .await
                .map_err(missing("population"))?;
            if inserted.rows_affected() != 1 {
                return Err(StorageError::NameTaken("token"));
            }
            record(connection, self.dialect, || Act::token_created(token)).await
        })
    }

    async fn token(&self, id: &str) -> Result<Option<TokenRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM tokens WHERE id = $1").bind(id);
        query.fetch_optional(&self.reader).await?.as_ref().map(token_of).transpose()
    }

    async fn tokens(&self, organisation_id: OrganisationId) -> Result<Vec<TokenRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM tokens WHERE organisation_id = $1 ORDER BY created_at, id";
        let rows = sqlx::query(SELECT).bind(organisation_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(token_of).collect()
    }

    async fn revoke_token(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            revoke(connection, organisation_id, id, now).await?;
            record(connection, self.dialect, || Act::new(organisation_id, "token.revoke", id)).await
        })
    }

    async fn revoke_token_and_clients(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<u64, StorageError> {
        const REVOKE: &str = "UPDATE clients SET revoked_at = $1 WHERE token_id = $2 AND revoked_at IS NULL";
        const WITHDRAW: &str =
            "DELETE FROM check_ins WHERE client_id IN (SELECT id FROM clients WHERE token_id = $1)";
        in_transaction!(self, |connection| {
            // Revoke the token first. This waits for an enrolment that has locked the token's row, and prevents new
            // ones.
            revoke(connection, organisation_id, id, now).await?;
            let query = sqlx::query(REVOKE).bind(moment(now)?).bind(id);
            let revoked = query.execute(&mut *connection).await?.rows_affected();
            // Selection must not draw revoked clients.
            sqlx::query(WITHDRAW).bind(id).execute(&mut *connection).await?;
            let act = || Act::tokens_clients_revoked(organisation_id, id, revoked);
            record(connection, self.dialect, act).await?;
            Ok(revoked)
        })
    }
}

async fn revoke(
    connection: &mut AnyConnection,
    organisation_id: OrganisationId,
    id: &str,
    now: Timestamp,
) -> Result<(), StorageError> {
    const UPDATE: &str =
        "UPDATE tokens SET revoked_at = COALESCE(revoked_at, $1) WHERE organisation_id = $2 AND id = $3";
    let query = sqlx::query(UPDATE).bind(moment(now)?).bind(organisation_id.to_string()).bind(id);
    match query.execute(connection).await?.rows_affected() {
        0 => Err(StorageError::NotFound("token")),
        _ => Ok(()),
    }
}

pub(super) fn token_of(row: &AnyRow) -> Result<TokenRecord, StorageError> {
    let columns = Columns::new(row, "token");
    Ok(TokenRecord {
        id: columns.text("id")?,
        name: columns.optional_parsed("name")?,
        organisation_id: columns.parsed("organisation_id")?,
        population: columns.parsed("population")?,
        secret_hash: columns.hash("secret_hash")?,
        jwt_keys: columns.json("jwt_keys")?,
        user_key: columns.optional_parsed("user_key")?,
        uses_max: columns.optional_count("uses_max")?,
        uses: columns.count("uses")?,
        expires_at: columns.optional_moment("expires_at")?,
        closed_at: columns.optional_moment("closed_at")?,
        revoked_at: columns.optional_moment("revoked_at")?,
        created_at: columns.moment("created_at")?,
    })
}
