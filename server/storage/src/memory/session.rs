use async_trait::async_trait;
use folkmoot_protocol::OrganisationId;

use super::{MemoryStorage, State, counts::check_moment};
use crate::{SessionHolder, SessionRecord, SessionRepository, StorageError, audit::Act};

#[async_trait]
impl SessionRepository for MemoryStorage {
    async fn create_session(&self, session: &SessionRecord) -> Result<(), StorageError> {
        check_moment(session.created_at)?;
        check_moment(session.expires_at)?;
        let mut state = self.lock();
        let organisation_id = state.organisation_of(session)?;
        if state.sessions.get(&session.id).is_some_and(|one| one.expires_at >= session.created_at) {
            return Err(StorageError::NameTaken("session"));
        }
        state.sessions.retain(|_, one| one.expires_at >= session.created_at);
        state.sessions.insert(session.id.clone(), session.clone());
        state.record(|| Act::session_created(organisation_id, session))
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StorageError> {
        Ok(self.lock().sessions.get(id).cloned())
    }

    async fn delete_session(&self, id: &str) -> Result<(), StorageError> {
        let mut state = self.lock();
        let Some(session) = state.sessions.remove(id) else { return Ok(()) };
        let organisation_id = state.organisation_of(&session)?;
        state.record(|| Act::new(organisation_id, "session.delete", id))
    }

    async fn record_refused_person(
        &self,
        organisation_id: OrganisationId,
        person: &str,
    ) -> Result<(), StorageError> {
        self.lock().record(|| Act::person_refused(organisation_id, person))
    }
}

impl State {
    fn organisation_of(&self, session: &SessionRecord) -> Result<OrganisationId, StorageError> {
        match &session.holder {
            SessionHolder::ApiKey(id) => {
                let key = self.api_keys.get(id).ok_or(StorageError::NotFound("API key"))?;
                Ok(key.organisation_id)
            }
            SessionHolder::Person(person) => {
                self.check_organisation(person.organisation_id)?;
                Ok(person.organisation_id)
            }
        }
    }
}
