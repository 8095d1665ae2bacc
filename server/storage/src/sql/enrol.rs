//! The transaction that enrols a client.

use folkmoot_coordinator::ClientKind;
use folkmoot_privacy::Unit;
use folkmoot_protocol::{ClientId, Timestamp, UserKey};
use sqlx::AnyConnection;

use super::{
    Dialect,
    column::moment,
    dialect::Lock,
    organisation::usage::is_full,
    rows::client::client_of,
    rows::population::{POPULATION, population_of},
    site::{has_all_sites, insert_activity},
    token::token_of,
};
use crate::{ClientRecord, EnrolOutcome, PopulationRecord, StorageError, TokenRecord};

/// Enrols a client as a device of the user, or of the token's user if none is given. The token's row stays locked, so that its uses are counted one after the other.
pub(super) async fn enrol(
    connection: &mut AnyConnection,
    dialect: Dialect,
    (token_id, user_key): (&str, Option<UserKey>),
    public_key: &str,
    id_if_new: ClientId,
    now: Timestamp,
) -> Result<EnrolOutcome, StorageError> {
    let select = dialect.locked("SELECT * FROM tokens WHERE id = $1", Lock::Update, "tokens");
    let row = sqlx::query(select).bind(token_id).fetch_optional(&mut *connection).await?;
    let Some(mut token) = row.as_ref().map(token_of).transpose()?.filter(|token| token.revoked_at.is_none())
    else {
        return Ok(EnrolOutcome::TokenInvalid);
    };
    token.user_key = user_key.or(token.user_key);
    if let Some(client) = client_by_key(connection, &token, public_key).await? {
        return Ok(token.known(client));
    }
    if token.closed_at.is_some() {
        return Ok(EnrolOutcome::TokenClosed);
    }
    let population = population(connection, dialect, &token).await?;
    if token.user_key.is_none() && population.privacy.unit == Unit::User {
        return Ok(EnrolOutcome::UserMissing);
    }
    // In a crowd, the name of the token names no client.
    token.name = token.name.filter(|_| population.clients == ClientKind::Sites);
    if token.name.is_none() && population.clients == ClientKind::Sites {
        return Ok(EnrolOutcome::SiteMissing);
    }
    if token.expires_at.is_some_and(|end| end <= now) {
        return Ok(EnrolOutcome::TokenExpired);
    }
    if token.uses_max.is_some_and(|uses_max| token.uses >= uses_max) {
        return Ok(EnrolOutcome::TokenExhausted);
    }
    if is_full(connection, token.organisation_id).await? {
        return Ok(EnrolOutcome::OrganisationFull);
    }
    if token.name.is_some() && has_all_sites(connection, &token).await? {
        return Ok(EnrolOutcome::SitesFull);
    }
    if !insert_client(connection, &token, public_key, id_if_new, now).await? {
        // Either another enrolment has stored the key since the first lookup, or the id is already in use.
        let client = client_by_key(connection, &token, public_key).await?;
        return client.map(|client| token.known(client)).ok_or(StorageError::NameTaken("client"));
    }
    let update = sqlx::query("UPDATE tokens SET uses = uses + 1 WHERE id = $1").bind(token_id);
    update.execute(&mut *connection).await?;
    let client = client_by_key(connection, &token, public_key).await?;
    let client = client.ok_or(StorageError::NotFound("client"))?;
    if client.site.is_some() {
        insert_activity(connection, &client).await?;
    }
    Ok(EnrolOutcome::Enrolled(client))
}

/// Returns the token's population, and locks it until the transaction ends.
async fn population(
    connection: &mut AnyConnection,
    dialect: Dialect,
    token: &TokenRecord,
) -> Result<PopulationRecord, StorageError> {
    let select = dialect.locked(POPULATION, Lock::Share, "populations");
    let query = sqlx::query(select).bind(token.organisation_id.to_string()).bind(token.population.as_str());
    population_of(&query.fetch_one(connection).await?)
}

async fn client_by_key(
    connection: &mut AnyConnection,
    token: &TokenRecord,
    public_key: &str,
) -> Result<Option<ClientRecord>, StorageError> {
    const SELECT: &str =
        "SELECT * FROM clients WHERE organisation_id = $1 AND population = $2 AND public_key = $3";
    let query = sqlx::query(SELECT)
        .bind(token.organisation_id.to_string())
        .bind(token.population.as_str())
        .bind(public_key);
    query.fetch_optional(connection).await?.as_ref().map(client_of).transpose()
}

/// Stores the client. Returns `false` if its key or id already exists.
async fn insert_client(
    connection: &mut AnyConnection,
    token: &TokenRecord,
    public_key: &str,
    id: ClientId,
    now: Timestamp,
) -> Result<bool, StorageError> {
    const INSERT: &str = "INSERT INTO clients \
         (id, organisation_id, population, public_key, enrolled_at, user_key, token_id, site, site_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
    let query = sqlx::query(INSERT)
        .bind(id.to_string())
        .bind(token.organisation_id.to_string())
        .bind(token.population.as_str())
        .bind(public_key)
        .bind(moment(now)?)
        .bind(token.user_key.map(String::from))
        .bind(&token.id)
        .bind(token.name.clone())
        .bind(token.name.as_deref().map(str::to_lowercase));
    Ok(query.execute(connection).await?.rows_affected() == 1)
}
