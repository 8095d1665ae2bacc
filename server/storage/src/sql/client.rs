use async_trait::async_trait;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp, UserKey};

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, integer, moment},
    enrol::enrol,
    page::ids_with,
    rows::client::client_of,
    transaction::in_transaction,
};
use crate::{ClientRecord, ClientRepository, EnrolOutcome, StorageError, TokenAfter, audit::Act};

#[async_trait]
impl ClientRepository for SqlStorage {
    async fn enrol_user(
        &self,
        token_id: &str,
        user_key: Option<UserKey>,
        public_key: &str,
        id_if_new: ClientId,
        now: Timestamp,
    ) -> Result<EnrolOutcome, StorageError> {
        in_transaction!(self, |connection| {
            enrol(connection, self.dialect, (token_id, user_key), public_key, id_if_new, now).await
        })
    }

    async fn client(&self, id: ClientId) -> Result<Option<ClientRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM clients WHERE id = $1").bind(id.to_string());
        query.fetch_optional(&self.reader).await?.as_ref().map(client_of).transpose()
    }

    async fn client_count(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<u64, StorageError> {
        const SELECT: &str = "SELECT COUNT(*) AS client_count FROM clients \
             WHERE organisation_id = $1 AND population = $2 AND revoked_at IS NULL";
        let query = sqlx::query(SELECT).bind(organisation_id.to_string()).bind(population.as_str());
        Columns::new(&query.fetch_one(&self.reader).await?, "client").count("client_count")
    }

    async fn has_clients(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        count: u64,
    ) -> Result<bool, StorageError> {
        const SELECT: &str = "SELECT COUNT(*) AS client_count FROM (SELECT 1 AS one FROM clients \
             WHERE organisation_id = $1 AND population = $2 AND revoked_at IS NULL LIMIT $3) AS first_clients";
        let query = sqlx::query(SELECT)
            .bind(organisation_id.to_string())
            .bind(population.as_str())
            .bind(integer(count)?);
        let found = Columns::new(&query.fetch_one(&self.reader).await?, "client").count("client_count")?;
        Ok(found >= count)
    }

    async fn clients_of_token(
        &self,
        organisation_id: OrganisationId,
        token_id: &str,
        limit: u32,
        before: Option<ClientId>,
    ) -> Result<Vec<ClientRecord>, StorageError> {
        const FIRST: &str = "SELECT * FROM clients WHERE organisation_id = $1 AND token_id = $2 \
             ORDER BY enrolled_at DESC, id DESC LIMIT $3";
        const NEXT: &str = "SELECT * FROM clients WHERE organisation_id = $1 AND token_id = $2 \
             AND (enrolled_at, id) < (SELECT enrolled_at, id FROM clients WHERE organisation_id = $1 AND id = $4) \
             ORDER BY enrolled_at DESC, id DESC LIMIT $3";
        let sql = if before.is_some() { NEXT } else { FIRST };
        let mut query =
            sqlx::query(sql).bind(organisation_id.to_string()).bind(token_id).bind(i64::from(limit));
        if let Some(before) = before {
            query = query.bind(before.to_string());
        }
        query.fetch_all(&self.reader).await?.iter().map(client_of).collect()
    }

    async fn revoke_client(
        &self,
        organisation_id: OrganisationId,
        id: ClientId,
        token: TokenAfter,
        now: Timestamp,
    ) -> Result<ClientRecord, StorageError> {
        const CLOSE: &str = "UPDATE tokens SET closed_at = COALESCE(closed_at, $1) WHERE id = \
             (SELECT token_id FROM clients WHERE organisation_id = $2 AND id = $3)";
        const REVOKE: &str = "UPDATE clients SET revoked_at = COALESCE(revoked_at, $1) \
             WHERE organisation_id = $2 AND id = $3";
        const SELECT: &str = "SELECT * FROM clients WHERE id = $1";
        in_transaction!(self, |connection| {
            let on_client = |sql| -> Result<_, StorageError> {
                let query = sqlx::query(sql).bind(moment(now)?).bind(organisation_id.to_string());
                Ok(query.bind(id.to_string()))
            };
            // Lock the token first, in the same order as an enrolment does.
            if token == TokenAfter::Closed {
                on_client(CLOSE)?.execute(&mut *connection).await?;
            }
            if on_client(REVOKE)?.execute(&mut *connection).await?.rows_affected() == 0 {
                return Err(StorageError::NotFound("client"));
            }
            // Selection must not draw a revoked client.
            let query = sqlx::query("DELETE FROM check_ins WHERE client_id = $1").bind(id.to_string());
            query.execute(&mut *connection).await?;
            let client =
                client_of(&sqlx::query(SELECT).bind(id.to_string()).fetch_one(&mut *connection).await?)?;
            record(connection, self.dialect, || Act::client_revoked(&client, token)).await?;
            Ok(client)
        })
    }
}

impl SqlStorage {
    /// Lists at most `limit` of the organisation's clients: those whose id begins with `beginning`, and those of the
    /// site that is named so. Ignores case. An empty beginning matches no id.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn clients_called(
        &self,
        organisation_id: OrganisationId,
        beginning: &str,
        name: &str,
        limit: u32,
    ) -> Result<Vec<ClientRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM clients WHERE organisation_id = $1 AND id >= $2 AND id < $3 \
             UNION SELECT * FROM clients WHERE organisation_id = $1 AND site_key = $4 ORDER BY id LIMIT $5";
        let (from, to) = ids_with(beginning);
        let query = sqlx::query(SELECT)
            .bind(organisation_id.to_string())
            .bind(from)
            .bind(to)
            .bind(name.to_lowercase())
            .bind(i64::from(limit));
        query.fetch_all(&self.reader).await?.iter().map(client_of).collect()
    }
}
