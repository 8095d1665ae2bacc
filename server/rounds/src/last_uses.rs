//! When API keys and sessions were last used.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use folkmoot_protocol::Timestamp;
use folkmoot_storage::{
    ApiKeyId, ApiKeyRecord, ApiKeyRepository, SessionId, SessionRecord, SessionRepository, Storage,
    StorageError,
};

/// A use is recorded if the recorded one is older than this, in milliseconds: five minutes. So a key that is used all the
/// time costs one small write in five minutes.
const PRECISION_MILLISECONDS: u64 = 300_000;

/// The uses of API keys and sessions that the database does not have yet. They are stored together, apart from the requests. If the
/// process is killed, the last ones are lost.
#[derive(Debug, Default)]
pub struct LastUses {
    keys: Mutex<BTreeMap<ApiKeyId, Timestamp>>,
    sessions: Mutex<BTreeMap<SessionId, Timestamp>>,
}

impl LastUses {
    /// Notes that a valid key was used at `now`, unless the database already has a recent use.
    pub fn note_key(&self, key: &ApiKeyRecord, now: Timestamp) {
        if is_due(key.used_at, now) {
            lock(&self.keys).insert(key.id.clone(), now);
        }
    }

    /// Notes that an open session was used at `now`, unless the database already has a recent use.
    pub fn note_session(&self, session: &SessionRecord, now: Timestamp) {
        if is_due(session.used_at, now) {
            lock(&self.sessions).insert(session.id.clone(), now);
        }
    }

    /// Stores the uses that were noted since the last time.
    ///
    /// # Errors
    /// [`StorageError`] if the storage fails. The uses are then lost, and the next ones are noted again.
    pub async fn store(&self, storage: &Storage) -> Result<(), StorageError> {
        let keys: Vec<_> = std::mem::take(&mut *lock(&self.keys)).into_iter().collect();
        let sessions: Vec<_> = std::mem::take(&mut *lock(&self.sessions)).into_iter().collect();
        if !keys.is_empty() {
            storage.record_key_uses(&keys).await?;
        }
        if !sessions.is_empty() {
            storage.record_session_uses(&sessions).await?;
        }
        Ok(())
    }
}

fn is_due(recorded: Option<Timestamp>, now: Timestamp) -> bool {
    recorded.is_none_or(|at| now.milliseconds_since(at) >= PRECISION_MILLISECONDS)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_recorded_once_in_five_minutes() {
        let recorded = Timestamp(1_000_000);
        assert!(is_due(None, recorded));
        assert!(!is_due(Some(recorded), Timestamp(1_299_999)));
        assert!(is_due(Some(recorded), Timestamp(1_300_000)));
        assert!(!is_due(Some(recorded), Timestamp(0)), "the clock of another process is ahead");
    }
}
