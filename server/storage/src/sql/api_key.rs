use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, Role, Timestamp};
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, json, missing, moment, optional_integer},
    dialect::{Dialect, Lock},
    population::check_open,
    transaction::in_transaction,
};
use crate::{ApiKeyId, ApiKeyRecord, ApiKeyRepository, KeyRotation, StorageError, audit::Act};

#[async_trait]
impl ApiKeyRepository for SqlStorage {
    async fn create_api_key(&self, key: &ApiKeyRecord) -> Result<(), StorageError> {
        in_transaction!(self, |connection| insert(connection, self.dialect, key).await)
    }

    async fn api_key(&self, id: &str) -> Result<Option<ApiKeyRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM api_keys WHERE id = $1").bind(id);
        query.fetch_optional(&self.reader).await?.as_ref().map(api_key_of).transpose()
    }

    async fn api_keys(&self, organisation_id: OrganisationId) -> Result<Vec<ApiKeyRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM api_keys WHERE organisation_id = $1 ORDER BY created_at, id";
        let rows = sqlx::query(SELECT).bind(organisation_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(api_key_of).collect()
    }

    async fn revoke_api_key(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        // Locks the admin keys in a fixed order. So the second of two concurrent revocations sees the result of the
        // first.
        const ADMINS: &str = "SELECT id FROM api_keys WHERE organisation_id = $1 AND role = $2 \
             AND revoked_at IS NULL AND expires_at IS NULL ORDER BY id";
        const UPDATE: &str = "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $1) \
             WHERE organisation_id = $2 AND id = $3";
        in_transaction!(self, |connection| {
            let admins = sqlx::query(self.dialect.locked(ADMINS, Lock::Update, "api_keys"))
                .bind(organisation_id.to_string())
                .bind(json(&Role::Admin)?)
                .fetch_all(&mut *connection)
                .await?;
            if let [last] = admins.as_slice()
                && Columns::new(last, "API key").text("id")? == id
            {
                return Err(StorageError::LastAdminKey);
            }
            let query = sqlx::query(UPDATE).bind(moment(now)?).bind(organisation_id.to_string()).bind(id);
            if query.execute(&mut *connection).await?.rows_affected() == 0 {
                return Err(StorageError::NotFound("API key"));
            }
            record(connection, self.dialect, || Act::new(organisation_id, "api_key.revoke", id)).await
        })
    }

    async fn rotate_api_key(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        secret_hash: [u8; 32],
        previous_until: Timestamp,
        now: Timestamp,
    ) -> Result<ApiKeyRecord, StorageError> {
        const SELECT: &str = "SELECT * FROM api_keys WHERE organisation_id = $1 AND id = $2";
        const UPDATE: &str = "UPDATE api_keys SET secret_hash = $2, rotated_at = $3, previous_hash = $4, \
             previous_until = $5 WHERE id = $1";
        const SESSIONS: &str =
            "UPDATE sessions SET expires_at = $2 WHERE api_key_id = $1 AND expires_at > $2";
        in_transaction!(self, |connection| {
            let select = self.dialect.locked(SELECT, Lock::Update, "api_keys");
            let query = sqlx::query(select).bind(organisation_id.to_string()).bind(id);
            let row = query.fetch_optional(&mut *connection).await?;
            let key = row.as_ref().map(api_key_of).transpose()?.filter(|key| key.is_valid(now));
            let key = key.ok_or(StorageError::NotFound("API key"))?.rotated(secret_hash, previous_until, now);
            let query = sqlx::query(UPDATE)
                .bind(id)
                .bind(key.secret_hash.to_vec())
                .bind(moment(now)?)
                .bind(key.rotation.as_ref().map(|rotation| rotation.previous_hash.to_vec()))
                .bind(moment(previous_until)?);
            query.execute(&mut *connection).await?;
            let query = sqlx::query(SESSIONS).bind(id).bind(moment(previous_until)?);
            query.execute(&mut *connection).await?;
            record(connection, self.dialect, || Act::api_key_rotated(&key, previous_until)).await?;
            Ok(key)
        })
    }

    async fn record_key_uses(&self, uses: &[(ApiKeyId, Timestamp)]) -> Result<(), StorageError> {
        const UPDATE: &str =
            "UPDATE api_keys SET used_at = $2 WHERE id = $1 AND (used_at IS NULL OR used_at < $2)";
        in_transaction!(self, begin_unsynced, |connection| {
            for (id, at) in uses {
                sqlx::query(UPDATE).bind(id).bind(moment(*at)?).execute(&mut *connection).await?;
            }
            Ok(())
        })
    }
}

/// Stores a new key, and records it in the audit log.
pub(super) async fn insert(
    connection: &mut AnyConnection,
    dialect: Dialect,
    key: &ApiKeyRecord,
) -> Result<(), StorageError> {
    const INSERT: &str = "INSERT INTO api_keys \
         (id, organisation_id, name, role, secret_hash, created_at, revoked_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING";
    check_open(connection, dialect, key.organisation_id).await?;
    let inserted = sqlx::query(INSERT)
        .bind(&key.id)
        .bind(key.organisation_id.to_string())
        .bind(&key.name)
        .bind(json(&key.role)?)
        .bind(key.secret_hash.to_vec())
        .bind(moment(key.created_at)?)
        .bind(optional_integer(key.revoked_at.map(|at| at.0))?)
        .bind(optional_integer(key.expires_at.map(|at| at.0))?)
        .execute(&mut *connection)
        .await
        .map_err(missing("organisation"))?;
    if inserted.rows_affected() != 1 {
        return Err(StorageError::NameTaken("API key"));
    }
    record(connection, dialect, || Act::api_key_created(key)).await
}

fn api_key_of(row: &AnyRow) -> Result<ApiKeyRecord, StorageError> {
    let columns = Columns::new(row, "API key");
    Ok(ApiKeyRecord {
        id: columns.text("id")?,
        organisation_id: columns.parsed("organisation_id")?,
        name: columns.text("name")?,
        role: columns.json("role")?,
        secret_hash: columns.hash("secret_hash")?,
        created_at: columns.moment("created_at")?,
        expires_at: columns.optional_moment("expires_at")?,
        revoked_at: columns.optional_moment("revoked_at")?,
        rotation: match columns.optional_moment("rotated_at")? {
            Some(at) => Some(KeyRotation {
                at,
                previous_hash: columns.hash("previous_hash")?,
                previous_until: columns.moment("previous_until")?,
            }),
            None => None,
        },
        used_at: columns.optional_moment("used_at")?,
    })
}
