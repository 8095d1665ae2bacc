use async_trait::async_trait;
use folkmoot_protocol::OrganisationId;
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, missing, moment},
    transaction::in_transaction,
};
use crate::{SessionRecord, SessionRepository, StorageError, audit::Act};

#[async_trait]
impl SessionRepository for SqlStorage {
    async fn create_session(&self, session: &SessionRecord) -> Result<(), StorageError> {
        const INSERT: &str = "INSERT INTO sessions (id, api_key_id, secret_hash, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING";
        in_transaction!(self, |connection| {
            let over = sqlx::query("DELETE FROM sessions WHERE expires_at < $1");
            over.bind(moment(session.created_at)?).execute(&mut *connection).await?;
            let query = sqlx::query(INSERT)
                .bind(&session.id)
                .bind(&session.api_key_id)
                .bind(session.secret_hash.to_vec())
                .bind(moment(session.created_at)?)
                .bind(moment(session.expires_at)?);
            if query.execute(&mut *connection).await.map_err(missing("API key"))?.rows_affected() == 0 {
                return Err(StorageError::NameTaken("session"));
            }
            let organisation_id = organisation(connection, &session.id).await?;
            match organisation_id {
                Some(of) => {
                    record(connection, self.dialect, || Act::new(of, "session.create", &session.id)).await
                }
                None => Ok(()),
            }
        })
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM sessions WHERE id = $1").bind(id);
        query.fetch_optional(&self.reader).await?.as_ref().map(session_of).transpose()
    }

    async fn delete_session(&self, id: &str) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            let organisation_id = organisation(connection, id).await?;
            sqlx::query("DELETE FROM sessions WHERE id = $1").bind(id).execute(&mut *connection).await?;
            match organisation_id {
                Some(of) => record(connection, self.dialect, || Act::new(of, "session.delete", id)).await,
                None => Ok(()),
            }
        })
    }
}

/// Returns the organisation of a session's key; `None` if there is no such session.
async fn organisation(
    connection: &mut AnyConnection,
    id: &str,
) -> Result<Option<OrganisationId>, StorageError> {
    const SELECT: &str = "SELECT organisation_id FROM api_keys WHERE id = \
         (SELECT api_key_id FROM sessions WHERE id = $1)";
    let row = sqlx::query(SELECT).bind(id).fetch_optional(connection).await?;
    row.map(|row| Columns::new(&row, "API key").parsed("organisation_id")).transpose()
}

fn session_of(row: &AnyRow) -> Result<SessionRecord, StorageError> {
    let columns = Columns::new(row, "session");
    Ok(SessionRecord {
        id: columns.text("id")?,
        api_key_id: columns.text("api_key_id")?,
        secret_hash: columns.hash("secret_hash")?,
        created_at: columns.moment("created_at")?,
        expires_at: columns.moment("expires_at")?,
    })
}
