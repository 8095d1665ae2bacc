use std::cmp::Reverse;

use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, Timestamp};

use super::{MemoryStorage, State, counts::check_moment};
use crate::{SessionHolder, SessionId, SessionRecord, SessionRepository, StorageError, audit::Act};

#[async_trait]
impl SessionRepository for MemoryStorage {
    async fn create_session(&self, session: &SessionRecord) -> Result<(), StorageError> {
        check_moments(session)?;
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

    async fn claim_renewal(&self, id: &str, due: Timestamp, next: Timestamp) -> Result<bool, StorageError> {
        check_moment(due)?;
        check_moment(next)?;
        let mut state = self.lock();
        let renewal = state.sessions.get_mut(id).and_then(|session| session.renewal.as_mut());
        match renewal.filter(|renewal| renewal.at == due) {
            Some(renewal) => renewal.at = next,
            None => return Ok(false),
        }
        Ok(true)
    }

    async fn renew_session(&self, session: &SessionRecord, claim: Timestamp) -> Result<(), StorageError> {
        check_moments(session)?;
        check_moment(claim)?;
        let SessionHolder::Person(person) = &session.holder else {
            return Err(StorageError::NotFound("session"));
        };
        let mut state = self.lock();
        let kept = state.sessions.get_mut(&session.id);
        let kept = kept.filter(|kept| kept.renewal.as_ref().is_some_and(|renewal| renewal.at == claim));
        let kept = kept.ok_or(StorageError::NotFound("session"))?;
        let SessionHolder::Person(before) = &mut kept.holder else {
            return Err(StorageError::NotFound("session"));
        };
        let role = before.role;
        (before.name, before.role) = (person.name.clone(), person.role);
        (kept.expires_at, kept.renewal) = (session.expires_at, session.renewal.clone());
        let id = before.organisation_id;
        match role == person.role {
            true => Ok(()),
            false => state.record(|| Act::session_role_changed(id, &session.id, role, person.role)),
        }
    }

    async fn delete_session(&self, id: &str) -> Result<(), StorageError> {
        let mut state = self.lock();
        let Some(session) = state.sessions.remove(id) else { return Ok(()) };
        let organisation_id = state.organisation_of(&session)?;
        state.record(|| Act::new(organisation_id, "session.delete", id))
    }

    async fn open_sessions(
        &self,
        organisation_id: OrganisationId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<SessionRecord>, StorageError> {
        check_moment(now)?;
        let state = self.lock();
        let is_open = |session: &&SessionRecord| {
            let is_valid = match &session.holder {
                SessionHolder::ApiKey(id) => state.api_keys.get(id).is_some_and(|key| key.is_valid(now)),
                SessionHolder::Person(_) => true,
            };
            let of = state.organisation_of(session);
            session.expires_at > now && is_valid && of.is_ok_and(|of| of == organisation_id)
        };
        let mut open: Vec<SessionRecord> = state.sessions.values().filter(is_open).cloned().collect();
        // The sessions are already in id order, and the stable sort keeps that order for equal times.
        open.sort_by_key(|session| Reverse(session.created_at));
        open.truncate(limit as usize);
        Ok(open)
    }

    async fn end_session(&self, organisation_id: OrganisationId, id: &str) -> Result<(), StorageError> {
        let mut state = self.lock();
        let session = state.sessions.get(id).cloned().ok_or(StorageError::NotFound("session"))?;
        if state.organisation_of(&session)? != organisation_id {
            return Err(StorageError::NotFound("session"));
        }
        state.sessions.remove(id);
        state.record(|| Act::session_ended(organisation_id, &session))
    }

    async fn end_sessions_of_person(
        &self,
        organisation_id: OrganisationId,
        provider: &str,
        subject: &str,
    ) -> Result<u64, StorageError> {
        let mut state = self.lock();
        let before = state.sessions.len();
        state.sessions.retain(|_, session| match &session.holder {
            SessionHolder::ApiKey(_) => true,
            SessionHolder::Person(person) => {
                (person.organisation_id, person.provider.as_str(), person.subject.as_str())
                    != (organisation_id, provider, subject)
            }
        });
        let ended = (before - state.sessions.len()) as u64;
        state.record(|| Act::persons_sessions_ended(organisation_id, provider, subject, ended))?;
        Ok(ended)
    }

    async fn record_session_uses(&self, uses: &[(SessionId, Timestamp)]) -> Result<(), StorageError> {
        uses.iter().try_for_each(|(_, at)| check_moment(*at))?;
        let mut state = self.lock();
        for (id, at) in uses {
            if let Some(session) = state.sessions.get_mut(id) {
                session.used_at = session.used_at.max(Some(*at));
            }
        }
        Ok(())
    }

    async fn record_refused_person(
        &self,
        organisation_id: OrganisationId,
        person: &str,
    ) -> Result<(), StorageError> {
        self.lock().record(|| Act::person_refused(organisation_id, person))
    }
}

fn check_moments(session: &SessionRecord) -> Result<(), StorageError> {
    let of_renewal = session.renewal.iter().flat_map(|renewal| [renewal.at, renewal.confirmed_until]);
    [session.created_at, session.expires_at].into_iter().chain(of_renewal).try_for_each(check_moment)
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
