use async_trait::async_trait;

use super::{MemoryStorage, State, counts::check_moment};
use crate::{SessionRecord, SessionRepository, StorageError, audit::Act};

#[async_trait]
impl SessionRepository for MemoryStorage {
    async fn create_session(&self, session: &SessionRecord) -> Result<(), StorageError> {
        check_moment(session.created_at)?;
        check_moment(session.expires_at)?;
        let mut state = self.lock();
        if !state.api_keys.contains_key(&session.api_key_id) {
            return Err(StorageError::NotFound("API key"));
        }
        if state.sessions.get(&session.id).is_some_and(|one| one.expires_at >= session.created_at) {
            return Err(StorageError::NameTaken("session"));
        }
        state.sessions.retain(|_, one| one.expires_at >= session.created_at);
        state.sessions.insert(session.id.clone(), session.clone());
        state.record_session(&session.id, &session.api_key_id, "session.create")
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StorageError> {
        Ok(self.lock().sessions.get(id).cloned())
    }

    async fn delete_session(&self, id: &str) -> Result<(), StorageError> {
        let mut state = self.lock();
        match state.sessions.remove(id) {
            Some(session) => state.record_session(id, &session.api_key_id, "session.delete"),
            None => Ok(()),
        }
    }
}

impl State {
    fn record_session(
        &mut self,
        id: &str,
        api_key_id: &str,
        action: &'static str,
    ) -> Result<(), StorageError> {
        match self.api_keys.get(api_key_id).map(|key| key.organisation_id) {
            Some(organisation_id) => self.record(|| Act::new(organisation_id, action, id)),
            None => Ok(()),
        }
    }
}
