//! Renewal of people's sessions: the coordinator asks the identity provider again whether a person still has a role.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use folkmoot_protocol::{ErrorCode, Timestamp};
use folkmoot_rounds::{credential::Credential, refusal::Refusal};
use folkmoot_sign_in::{Provider, RefreshToken, Renewal, SignInError};
use folkmoot_storage::{
    PersonRecord, RenewalRecord, SessionHolder, SessionId, SessionRecord, SessionRepository, StorageError,
    audit::{Actor, on_behalf_of},
};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tracing::Instrument;

use crate::http::{App, admin::who::Who};

/// The time for which a renewal belongs to the request that claimed it, and after which a failed one is tried again, in
/// seconds. One renewal sends at most five requests of ten seconds each.
const CLAIM_SECONDS: u64 = 60;

/// The renewals in progress in this process. A provider that rotates refresh tokens accepts each of them once, so two
/// requests must not send the same token.
#[derive(Default)]
pub struct Renewals(Mutex<HashMap<SessionId, Weak<AsyncMutex<()>>>>);

impl Renewals {
    /// Returns the lock of a session's renewal. If none is in progress, creates one if the renewal is due.
    fn lock_of(&self, id: &str, is_due: bool) -> Option<Arc<AsyncMutex<()>>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = locks.get(id).and_then(Weak::upgrade) {
            return Some(lock);
        }
        is_due.then(|| {
            let lock = Arc::default();
            locks.insert(id.to_owned(), Arc::downgrade(&lock));
            lock
        })
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

/// Returns the session `record`, after a renewal if one is due. While one request renews a session, the others wait for
/// it, because the person's role may change.
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
    let Some(renewal) = &record.renewal else { return Ok(record) };
    let Some(lock) = app.renewals.lock_of(&record.id, renewal.at <= now) else {
        return confirmed(record, now);
    };
    let guard = lock.lock_owned().await;
    // A browser that closes its connection must not interrupt this: the provider's new token would be lost.
    let (app, session) = (app.clone(), session.clone());
    let renewal = async move { renew(&app, &session, guard).await };
    let renewal = tokio::spawn(renewal.in_current_span());
    renewal.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

/// Refuses a session that has ended, or whose confirmation has expired.
fn confirmed(record: SessionRecord, now: Timestamp) -> Result<SessionRecord, Refusal> {
    if record.expires_at <= now {
        return Err(ended("it has expired"));
    }
    match &record.renewal {
        Some(renewal) if renewal.confirmed_until <= now => {
            let detail =
                "the identity provider could not be asked whether this session may continue; try again";
            let refusal = Refusal::new(ErrorCode::IdentityProviderUnavailable, detail);
            Err(refusal.retry_after(renewal.at.milliseconds_since(now).max(1000)))
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
    let (SessionHolder::Person(person), Some(renewal)) = (record.holder.clone(), record.renewal.clone())
    else {
        return confirmed(record, now);
    };
    let claim = now.plus_seconds(CLAIM_SECONDS);
    if renewal.at > now || !storage.claim_renewal(&record.id, renewal.at, claim).await? {
        // Another request has asked the provider, or another process asks it now.
        return confirmed(record, now);
    }
    let provider = app.providers.get(&person.provider).ok_or_else(|| ended("its provider was removed"))?;
    let actor = Actor { by: Who::Person(person.clone()).to_string(), from: None, at: now };
    let Ok(token) = RefreshToken::open(&renewal.sealed_token, session.secret()) else {
        let error = SignInError::Unverified("the stored refresh token was changed".into());
        return Err(on_behalf_of(actor, end(app, &record, &person, &error)).await?);
    };
    let answer = provider.renew(&token, &person.subject, now).await;
    let newest = answer.as_ref().ok().and_then(|person| person.as_ref()?.renewal.as_ref());
    let newest = newest.map_or(token, |renewal| renewal.token.clone());
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
            let renewal = Some(RenewalRecord { at: claim, ..renewal });
            return confirmed(SessionRecord { renewal, ..record }, now);
        }
        Err(error) => {
            let refusal = on_behalf_of(actor, end(app, &record, &person, &error)).await?;
            give_up(provider, &newest, now).await;
            return Err(refusal);
        }
    };
    match on_behalf_of(actor, storage.renew_session(&renewed, claim)).await {
        Ok(()) => confirmed(renewed, now),
        Err(StorageError::NotFound(_)) => {
            // The person has signed out meanwhile.
            give_up(provider, &newest, now).await;
            Err(ended("it was ended"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Gives up a refresh token that nobody needs any more.
pub async fn give_up(provider: &Provider, token: &RefreshToken, now: Timestamp) {
    if let Err(error) = provider.revoke(token, now).await {
        tracing::warn!(provider = provider.name(), %error, "could not give up the refresh token of a session");
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
