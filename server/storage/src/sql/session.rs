use async_trait::async_trait;
use sqlx::any::AnyRow;

use super::{
    SqlStorage,
    column::{Columns, missing, moment},
    transaction::in_transaction,
};
use crate::{SessionRecord, SessionRepository, StorageError};

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
            match query.execute(connection).await.map_err(missing("API key"))?.rows_affected() {
                0 => Err(StorageError::NameTaken("session")),
                _ => Ok(()),
            }
        })
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StorageError> {
        let query = sqlx::query("SELECT * FROM sessions WHERE id = $1").bind(id);
        query.fetch_optional(&self.reader).await?.as_ref().map(session_of).transpose()
    }

    async fn delete_session(&self, id: &str) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            sqlx::query("DELETE FROM sessions WHERE id = $1").bind(id).execute(connection).await?;
            Ok(())
        })
    }
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
