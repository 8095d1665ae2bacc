use async_trait::async_trait;
use folkmoot_protocol::OrganisationId;
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, json, missing, moment},
    population::check_open,
    transaction::in_transaction,
};
use crate::{PersonRecord, SessionHolder, SessionRecord, SessionRepository, StorageError, audit::Act};

#[async_trait]
impl SessionRepository for SqlStorage {
    async fn create_session(&self, session: &SessionRecord) -> Result<(), StorageError> {
        const INSERT: &str = "INSERT INTO sessions \
             (id, secret_hash, created_at, expires_at, api_key_id, organisation_id, provider, subject, name, role) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING";
        let (key, person) = match &session.holder {
            SessionHolder::ApiKey(id) => (Some(id), None),
            SessionHolder::Person(person) => (None, Some(person)),
        };
        let holder = if person.is_some() { "organisation" } else { "API key" };
        in_transaction!(self, |connection| {
            if let Some(person) = person {
                // Locks the organisation first, as closing it does: a closed organisation must keep no session.
                check_open(connection, self.dialect, person.organisation_id).await?;
            }
            let over = sqlx::query("DELETE FROM sessions WHERE expires_at < $1");
            over.bind(moment(session.created_at)?).execute(&mut *connection).await?;
            let query = sqlx::query(INSERT)
                .bind(&session.id)
                .bind(session.secret_hash.to_vec())
                .bind(moment(session.created_at)?)
                .bind(moment(session.expires_at)?)
                .bind(key)
                .bind(person.map(|person| person.organisation_id.to_string()))
                .bind(person.map(|person| &person.provider))
                .bind(person.map(|person| &person.subject))
                .bind(person.map(|person| &person.name))
                .bind(person.map(|person| json(&person.role)).transpose()?);
            if query.execute(&mut *connection).await.map_err(missing(holder))?.rows_affected() == 0 {
                return Err(StorageError::NameTaken("session"));
            }
            match organisation(connection, &session.id).await? {
                Some(of) => record(connection, self.dialect, || Act::session_created(of, session)).await,
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

    async fn record_refused_person(
        &self,
        organisation_id: OrganisationId,
        person: &str,
    ) -> Result<(), StorageError> {
        in_transaction!(self, |connection| {
            record(connection, self.dialect, || Act::person_refused(organisation_id, person)).await
        })
    }
}

/// Returns the organisation of a session's key or person; `None` if there is no such session.
async fn organisation(
    connection: &mut AnyConnection,
    id: &str,
) -> Result<Option<OrganisationId>, StorageError> {
    const SELECT: &str = "SELECT COALESCE(sessions.organisation_id, api_keys.organisation_id) AS organisation_id \
         FROM sessions LEFT JOIN api_keys ON api_keys.id = sessions.api_key_id WHERE sessions.id = $1";
    let row = sqlx::query(SELECT).bind(id).fetch_optional(connection).await?;
    row.map(|row| Columns::new(&row, "session").parsed("organisation_id")).transpose()
}

fn session_of(row: &AnyRow) -> Result<SessionRecord, StorageError> {
    let columns = Columns::new(row, "session");
    let holder = match columns.optional_parsed("api_key_id")? {
        Some(id) => SessionHolder::ApiKey(id),
        None => SessionHolder::Person(PersonRecord {
            organisation_id: columns.parsed("organisation_id")?,
            provider: columns.text("provider")?,
            subject: columns.text("subject")?,
            name: columns.text("name")?,
            role: columns.json("role")?,
        }),
    };
    Ok(SessionRecord {
        id: columns.text("id")?,
        holder,
        secret_hash: columns.hash("secret_hash")?,
        created_at: columns.moment("created_at")?,
        expires_at: columns.moment("expires_at")?,
    })
}
