use async_trait::async_trait;
use folkmoot_protocol::{OrganisationId, Role, Timestamp};

use super::{
    MemoryStorage, State,
    counts::{check_counts, check_moment},
};
use crate::{ApiKeyId, ApiKeyRecord, ApiKeyRepository, SessionHolder, StorageError, audit::Act};

#[async_trait]
impl ApiKeyRepository for MemoryStorage {
    async fn create_api_key(&self, key: &ApiKeyRecord) -> Result<(), StorageError> {
        self.lock().create_api_key(key)
    }

    async fn api_key(&self, id: &str) -> Result<Option<ApiKeyRecord>, StorageError> {
        Ok(self.lock().api_keys.get(id).cloned())
    }

    async fn api_keys(&self, organisation_id: OrganisationId) -> Result<Vec<ApiKeyRecord>, StorageError> {
        let state = self.lock();
        let of_organisation = state.api_keys.values().filter(|key| key.organisation_id == organisation_id);
        let mut keys: Vec<ApiKeyRecord> = of_organisation.cloned().collect();
        // The keys are already in id order, and the stable sort keeps that order for equal times.
        keys.sort_by_key(|key| key.created_at);
        Ok(keys)
    }

    async fn revoke_api_key(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        check_moment(now)?;
        let mut state = self.lock();
        let is_admin = |key: &&ApiKeyRecord| {
            key.organisation_id == organisation_id
                && key.role == Role::Admin
                && key.revoked_at.is_none()
                && key.expires_at.is_none()
        };
        let mut admins = state.api_keys.values().filter(is_admin);
        if let (Some(last), None) = (admins.next(), admins.next())
            && last.id == id
        {
            return Err(StorageError::LastAdminKey);
        }
        let key = state.api_keys.get_mut(id).filter(|key| key.organisation_id == organisation_id);
        key.ok_or(StorageError::NotFound("API key"))?.revoked_at.get_or_insert(now);
        state.record(|| Act::new(organisation_id, "api_key.revoke", id))
    }

    async fn rotate_api_key(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        secret_hash: [u8; 32],
        previous_until: Timestamp,
        now: Timestamp,
    ) -> Result<ApiKeyRecord, StorageError> {
        check_moment(now)?;
        check_moment(previous_until)?;
        let mut state = self.lock();
        let key = state.api_keys.get_mut(id).filter(|key| key.organisation_id == organisation_id);
        let key = key.filter(|key| key.is_valid(now)).ok_or(StorageError::NotFound("API key"))?;
        *key = key.clone().rotated(secret_hash, previous_until, now);
        let key = key.clone();
        for session in state.sessions.values_mut() {
            if matches!(&session.holder, SessionHolder::ApiKey(of) if of == id) {
                session.expires_at = session.expires_at.min(previous_until);
            }
        }
        state.record(|| Act::api_key_rotated(&key, previous_until))?;
        Ok(key)
    }

    async fn record_key_uses(&self, uses: &[(ApiKeyId, Timestamp)]) -> Result<(), StorageError> {
        uses.iter().try_for_each(|(_, at)| check_moment(*at))?;
        let mut state = self.lock();
        for (id, at) in uses {
            if let Some(key) = state.api_keys.get_mut(id) {
                key.used_at = key.used_at.max(Some(*at));
            }
        }
        Ok(())
    }
}

impl State {
    fn create_api_key(&mut self, key: &ApiKeyRecord) -> Result<(), StorageError> {
        check_moment(key.created_at)?;
        check_counts([key.revoked_at, key.expires_at].into_iter().flatten().map(|at| at.0))?;
        if self.api_keys.contains_key(&key.id) {
            return Err(StorageError::NameTaken("API key"));
        }
        self.check_organisation(key.organisation_id)?;
        self.api_keys.insert(key.id.clone(), key.clone());
        self.record(|| Act::api_key_created(key))
    }
}
