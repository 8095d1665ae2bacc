use async_trait::async_trait;
use folkmoot_privacy::Unit;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp, UserKey};

use super::{
    MemoryStorage, State,
    counts::{check_counts, check_moment},
};
use crate::{
    ClientRecord, ClientRepository, EnrolOutcome, StorageError, TokenAfter, TokenRecord, audit::Act,
};

#[async_trait]
impl ClientRepository for MemoryStorage {
    async fn enrol_user(
        &self,
        token_id: &str,
        user_key: Option<UserKey>,
        public_key: &str,
        id_if_new: ClientId,
        now: Timestamp,
    ) -> Result<EnrolOutcome, StorageError> {
        self.lock().enrol((token_id, user_key), public_key, id_if_new, now)
    }

    async fn client(&self, id: ClientId) -> Result<Option<ClientRecord>, StorageError> {
        Ok(self.lock().clients.get(id).cloned())
    }

    async fn client_count(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<u64, StorageError> {
        Ok(self.lock().clients.count(organisation_id, population))
    }

    async fn has_clients(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        count: u64,
    ) -> Result<bool, StorageError> {
        check_counts([count])?;
        Ok(self.lock().clients.count(organisation_id, population) >= count)
    }

    async fn clients_of_token(
        &self,
        organisation_id: OrganisationId,
        token_id: &str,
        limit: u32,
        before: Option<ClientId>,
    ) -> Result<Vec<ClientRecord>, StorageError> {
        let state = self.lock();
        let place = |client: &ClientRecord| (client.enrolled_at, client.id);
        let before = match before {
            None => None,
            Some(id) => {
                match state.clients.get(id).filter(|client| client.organisation_id == organisation_id) {
                    None => return Ok(Vec::new()),
                    found => found.map(place),
                }
            }
        };
        let mut clients: Vec<ClientRecord> = state
            .clients
            .of_token(token_id)
            .filter(|client| client.organisation_id == organisation_id)
            .filter(|client| before.is_none_or(|before| place(client) < before))
            .cloned()
            .collect();
        clients.sort_by_key(|client| std::cmp::Reverse(place(client)));
        clients.truncate(limit as usize);
        Ok(clients)
    }

    async fn revoke_client(
        &self,
        organisation_id: OrganisationId,
        id: ClientId,
        token: TokenAfter,
        now: Timestamp,
    ) -> Result<ClientRecord, StorageError> {
        check_moment(now)?;
        let mut state = self.lock();
        let revoked = state.clients.revoke(organisation_id, id, now);
        let client = revoked.cloned().ok_or(StorageError::NotFound("client"))?;
        // Selection must not draw a revoked client.
        state.pool.remove(id);
        let id = client.token_id.as_ref().filter(|_| token == TokenAfter::Closed);
        if let Some(closing) = id.and_then(|id| state.tokens.get_mut(id)) {
            closing.closed_at.get_or_insert(now);
        }
        state.record(|| Act::client_revoked(&client, token))?;
        Ok(client)
    }
}

impl State {
    fn enrol(
        &mut self,
        (token_id, user_key): (&str, Option<UserKey>),
        public_key: &str,
        id_if_new: ClientId,
        now: Timestamp,
    ) -> Result<EnrolOutcome, StorageError> {
        let token = self.tokens.get_mut(token_id).filter(|token| token.revoked_at.is_none());
        let Some(token) = token else { return Ok(EnrolOutcome::TokenInvalid) };
        let user_key = user_key.or(token.user_key);
        if let Some(client) = self.clients.with_key(token.organisation_id, &token.population, public_key) {
            return Ok(TokenRecord { user_key, ..token.clone() }.known(client.clone()));
        }
        if token.closed_at.is_some() {
            return Ok(EnrolOutcome::TokenClosed);
        }
        let populations = self.populations.get(&token.organisation_id);
        let population = populations.and_then(|populations| populations.get(&token.population));
        let unit = population.map_or(Unit::Client, |population| population.privacy.unit);
        if user_key.is_none() && unit == Unit::User {
            return Ok(EnrolOutcome::UserMissing);
        }
        if token.expires_at.is_some_and(|end| end <= now) {
            return Ok(EnrolOutcome::TokenExpired);
        }
        if token.uses_max.is_some_and(|uses_max| token.uses >= uses_max) {
            return Ok(EnrolOutcome::TokenExhausted);
        }
        check_moment(now)?;
        if self.clients.get(id_if_new).is_some() {
            return Err(StorageError::NameTaken("client"));
        }
        token.uses += 1;
        let client = ClientRecord {
            id: id_if_new,
            organisation_id: token.organisation_id,
            population: token.population.clone(),
            public_key: public_key.to_owned(),
            token_id: Some(token.id.clone()),
            user_key,
            site: None,
            enrolled_at: now,
            revoked_at: None,
        };
        self.clients.insert(client.clone());
        Ok(EnrolOutcome::Enrolled(client))
    }
}
