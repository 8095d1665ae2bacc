use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, Timestamp};
use sqlx::{AnyConnection, any::AnyRow};

use super::{
    SqlStorage,
    audit::record,
    column::{Columns, json, missing, moment},
    dialect::Lock,
    population::check_open,
    transaction::in_transaction,
};
use crate::{
    PersonRecord, RenewalRecord, SessionHolder, SessionId, SessionRecord, SessionRepository, StorageError,
    audit::Act,
};

#[async_trait]
impl SessionRepository for SqlStorage {
    async fn create_session(&self, session: &SessionRecord) -> Result<(), StorageError> {
        const INSERT: &str = "INSERT INTO sessions \
             (id, secret_hash, created_at, expires_at, api_key_id, organisation_id, provider, subject, name, role, \
             renew_at, confirmed_until, refresh_token) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (id) DO NOTHING";
        let (key, person) = match &session.holder {
            SessionHolder::ApiKey(id) => (Some(id), None),
            SessionHolder::Person(person) => (None, Some(person)),
        };
        let (renew_at, confirmed_until, refresh_token) = renewal_columns(session)?;
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
                .bind(person.map(|person| json(&person.role)).transpose()?)
                .bind(renew_at)
                .bind(confirmed_until)
                .bind(refresh_token);
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

    async fn claim_renewal(&self, id: &str, due: Timestamp, next: Timestamp) -> Result<bool, StorageError> {
        const UPDATE: &str = "UPDATE sessions SET renew_at = $3 WHERE id = $1 AND renew_at = $2";
        in_transaction!(self, |connection| {
            let query = sqlx::query(UPDATE).bind(id).bind(moment(due)?).bind(moment(next)?);
            Ok(query.execute(&mut *connection).await?.rows_affected() == 1)
        })
    }

    async fn renew_session(&self, session: &SessionRecord, claim: Timestamp) -> Result<(), StorageError> {
        const SELECT: &str =
            "SELECT * FROM sessions WHERE id = $1 AND provider IS NOT NULL AND renew_at = $2";
        const UPDATE: &str = "UPDATE sessions SET name = $2, role = $3, expires_at = $4, renew_at = $5, \
             confirmed_until = $6, refresh_token = $7 WHERE id = $1";
        let SessionHolder::Person(person) = &session.holder else {
            return Err(StorageError::NotFound("session"));
        };
        let (renew_at, confirmed_until, refresh_token) = renewal_columns(session)?;
        in_transaction!(self, |connection| {
            let select = self.dialect.locked(SELECT, Lock::Update, "sessions");
            let query = sqlx::query(select).bind(&session.id).bind(moment(claim)?);
            let row = query.fetch_optional(&mut *connection).await?;
            let before = session_of(&row.ok_or(StorageError::NotFound("session"))?)?;
            let query = sqlx::query(UPDATE)
                .bind(&session.id)
                .bind(&person.name)
                .bind(json(&person.role)?)
                .bind(moment(session.expires_at)?)
                .bind(renew_at)
                .bind(confirmed_until)
                .bind(refresh_token);
            query.execute(&mut *connection).await?;
            match before.holder {
                SessionHolder::Person(PersonRecord { organisation_id, role, .. }) if role != person.role => {
                    let act = || Act::session_role_changed(organisation_id, &session.id, role, person.role);
                    record(connection, self.dialect, act).await
                }
                _ => Ok(()),
            }
        })
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

    async fn open_sessions(
        &self,
        organisation_id: OrganisationId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<SessionRecord>, StorageError> {
        const SELECT: &str = "SELECT sessions.* FROM sessions LEFT JOIN api_keys ON api_keys.id = sessions.api_key_id \
             WHERE COALESCE(sessions.organisation_id, api_keys.organisation_id) = $1 AND sessions.expires_at > $2 \
             AND api_keys.revoked_at IS NULL AND (api_keys.expires_at IS NULL OR api_keys.expires_at > $2) \
             ORDER BY sessions.created_at DESC, sessions.id LIMIT $3";
        let query = sqlx::query(SELECT).bind(organisation_id.to_string()).bind(moment(now)?);
        let rows = query.bind(i64::from(limit)).fetch_all(&self.reader).await?;
        rows.iter().map(session_of).collect()
    }

    async fn end_session(&self, organisation_id: OrganisationId, id: &str) -> Result<(), StorageError> {
        const DELETE: &str = "DELETE FROM sessions WHERE id = $1 RETURNING *";
        in_transaction!(self, |connection| {
            if organisation(connection, id).await? != Some(organisation_id) {
                return Err(StorageError::NotFound("session"));
            }
            let row = sqlx::query(DELETE).bind(id).fetch_optional(&mut *connection).await?;
            let session = session_of(&row.ok_or(StorageError::NotFound("session"))?)?;
            record(connection, self.dialect, || Act::session_ended(organisation_id, &session)).await
        })
    }

    async fn end_sessions_of_person(
        &self,
        organisation_id: OrganisationId,
        provider: &str,
        subject: &str,
    ) -> Result<u64, StorageError> {
        const DELETE: &str =
            "DELETE FROM sessions WHERE organisation_id = $1 AND provider = $2 AND subject = $3";
        in_transaction!(self, |connection| {
            let query = sqlx::query(DELETE).bind(organisation_id.to_string()).bind(provider).bind(subject);
            let ended = query.execute(&mut *connection).await?.rows_affected();
            let act = || Act::persons_sessions_ended(organisation_id, provider, subject, ended);
            record(connection, self.dialect, act).await?;
            Ok(ended)
        })
    }

    async fn record_session_uses(&self, uses: &[(SessionId, Timestamp)]) -> Result<(), StorageError> {
        const UPDATE: &str =
            "UPDATE sessions SET used_at = $2 WHERE id = $1 AND (used_at IS NULL OR used_at < $2)";
        in_transaction!(self, begin_unsynced, |connection| {
            for (id, at) in uses {
                sqlx::query(UPDATE).bind(id).bind(moment(*at)?).execute(&mut *connection).await?;
            }
            Ok(())
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

/// The columns `renew_at`, `confirmed_until` and `refresh_token`.
type RenewalColumns<'a> = (Option<i64>, Option<i64>, Option<&'a [u8]>);

fn renewal_columns(session: &SessionRecord) -> Result<RenewalColumns<'_>, StorageError> {
    let Some(renewal) = &session.renewal else { return Ok((None, None, None)) };
    let (at, until) = (moment(renewal.at)?, moment(renewal.confirmed_until)?);
    Ok((Some(at), Some(until), Some(&renewal.sealed_token)))
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
        renewal: match (columns.optional_moment("renew_at")?, columns.optional_bytes("refresh_token")?) {
            (Some(at), Some(sealed_token)) => {
                Some(RenewalRecord { at, confirmed_until: columns.moment("confirmed_until")?, sealed_token })
            }
            _ => None,
        },
        used_at: columns.optional_moment("used_at")?,
    })
}
