//! Renewal of people's sessions: the coordinator asks the identity provider again whether a person still has a role.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use folkmoot_protocol::{ErrorCode, Timestamp};
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_sign_in::{RefreshToken, Renewal, SignInError};
use folkmoot_storage::{
    PersonRecord, RenewalRecord, SessionHolder, SessionId, SessionRecord, SessionRepository, StorageError,
    audit::{Actor, on_behalf_of},
};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::http::{App, admin::who::Who};

/// The time after which a renewal that failed is tried again, in seconds.
const RETRY_SECONDS: u64 = 15;

/// The renewals in progress in this process. A provider that rotates refresh tokens accepts each of them once, so two
/// requests must not send the same token.
#[derive(Default)]
pub struct Renewals(Mutex<HashMap<SessionId, Weak<AsyncMutex<()>>>>);

impl Renewals {
    fn lock_of(&self, id: &str) -> Arc<AsyncMutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = locks.get(id).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        locks.insert(id.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

/// Encrypts the refresh token of a renewal with the secret of the session.
pub fn sealed(app: &App, session: &Credential, renewal: &Renewal) -> RenewalRecord {
    RenewalRecord {
        at: renewal.at,
        confirmed_until: renewal.confirmed_until,
        sealed_token: renewal.token.seal(session.secret(), app.coordinator.random_bytes()),
    }
}

/// Returns the session `record`, after a renewal if one is due.
///
/// While one request renews a session, the others continue with the role that they found. Only if the provider's
/// confirmation has expired do they wait.
///
/// # Errors
/// [`ErrorCode::ApiKeyInvalid`] if the provider no longer confirms the person, or no group of the person has a role;
/// [`ErrorCode::IdentityProviderUnavailable`] if its confirmation has expired and it cannot be asked.
pub async fn renewed(
    app: &App,
    session: &Credential,
    record: SessionRecord,
) -> Result<SessionRecord, Refusal> {
    let now = (app.clock)();
    let Some(renewal) = record.renewal.as_ref().filter(|renewal| renewal.at <= now) else {
        return confirmed(record, now);
    };
    let lock = app.renewals.lock_of(&record.id);
    let guard = match lock.clone().try_lock_owned() {
        Ok(guard) => guard,
        Err(_) if now < renewal.confirmed_until => return Ok(record),
        Err(_) => lock.lock_owned().await,
    };
    // A browser that closes its connection must not interrupt this: the provider's new token would be lost.
    let (app, session) = (app.clone(), session.clone());
    let renewal = tokio::spawn(async move { renew(&app, &session, guard).await });
    renewal.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

/// Refuses a session whose confirmation has expired.
fn confirmed(record: SessionRecord, now: Timestamp) -> Result<SessionRecord, Refusal> {
    match &record.renewal {
        Some(renewal) if renewal.confirmed_until <= now => {
            let detail =
                "the identity provider could not be asked whether this session may continue; try again";
            let refusal = Refusal::new(ErrorCode::IdentityProviderUnavailable, detail);
            Err(refusal.retry_after(RETRY_SECONDS * 1000))
        }
        _ => Ok(record),
    }
}

async fn renew(
    app: &App,
    session: &Credential,
    _guard: OwnedMutexGuard<()>,
) -> Result<SessionRecord, Refusal> {
    let (storage, now) = (&app.coordinator.storage, (app.clock)());
    // Another request may have renewed or ended the session while this one waited.
    let record = storage.session(&session.id).await?.ok_or_else(|| ended("it was ended"))?;
    let SessionHolder::Person(person) = record.holder.clone() else { return Ok(record) };
    let Some(renewal) = record.renewal.clone() else { return Ok(record) };
    let next = now.plus_seconds(RETRY_SECONDS);
    if renewal.at > now || !storage.claim_renewal(&record.id, renewal.at, next).await? {
        // Another process asks the provider.
        return confirmed(record, now);
    }
    let provider = app.providers.get(&person.provider).ok_or_else(|| ended("its provider was removed"))?;
    let actor = Actor { by: Who::Person(person.clone()).to_string(), from: None, at: now };
    let answer = match RefreshToken::open(&renewal.sealed_token, session.secret()) {
        Ok(token) => provider.renew(&token, &person.subject, now).await,
        Err(error) => Err(SignInError::Unverified(error.to_string())),
    };
    let renewed = match answer {
        Ok(Some(now_is)) => SessionRecord {
            expires_at: record.expires_at.min(now_is.expires_at),
            renewal: now_is.renewal.as_ref().map(|renewal| sealed(app, session, renewal)),
            holder: SessionHolder::Person(PersonRecord { name: now_is.name, role: now_is.role, ..person }),
            ..record
        },
        // Nobody will confirm the groups again.
        Ok(None) => SessionRecord {
            expires_at: record.expires_at.min(renewal.confirmed_until),
            renewal: None,
            ..record
        },
        Err(error @ SignInError::Unavailable(_)) => {
            tracing::warn!(provider = provider.name(), %error, "could not renew a session; a later request tries again");
            return confirmed(record, now);
        }
        Err(error) => return Err(on_behalf_of(actor, end(app, &record, &person, &error)).await?),
    };
    match on_behalf_of(actor, storage.renew_session(&renewed)).await {
        Ok(()) => confirmed(renewed, now),
        Err(StorageError::NotFound(_)) => Err(ended("it was ended")),
        Err(error) => Err(error.into()),
    }
}

/// Ends a session because the provider no longer confirms its person, and returns the refusal of the request.
async fn end(
    app: &App,
    record: &SessionRecord,
    person: &PersonRecord,
    error: &SignInError,
) -> Result<Refusal, StorageError> {
    let storage = &app.coordinator.storage;
    let who = Who::Person(person.clone()).to_string();
    tracing::warn!(by = who, %error, "ended a session");
    if matches!(error, SignInError::NoRole { .. }) {
        storage.record_refused_person(person.organisation_id, &who).await?;
    }
    storage.delete_session(&record.id).await?;
    Ok(ended(&error.to_string()))
}

fn ended(reason: &str) -> Refusal {
    Refusal::new(ErrorCode::ApiKeyInvalid, format!("the session has ended: {reason}; sign in again"))
}
