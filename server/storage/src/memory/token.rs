use async_trait::async_trait;
use folkmoot_protocol::{ClientId, OrganisationId, Timestamp};

use super::{
    MemoryStorage, State,
    counts::{check_counts, check_moment},
};
use crate::{StorageError, TokenRecord, TokenRepository, audit::Act};

#[async_trait]
impl TokenRepository for MemoryStorage {
    async fn create_token(&self, token: &TokenRecord) -> Result<(), StorageError> {
        self.lock().create_token(token)
    }

    async fn token(&self, id: &str) -> Result<Option<TokenRecord>, StorageError> {
        Ok(self.lock().tokens.get(id).cloned())
    }

    async fn tokens(&self, organisation_id: OrganisationId) -> Result<Vec<TokenRecord>, StorageError> {
        let state = self.lock();
        let of_organisation = state.tokens.values().filter(|token| token.organisation_id == organisation_id);
        let mut tokens: Vec<TokenRecord> = of_organisation.cloned().collect();
        // The tokens are already in id order, and the stable sort keeps that order for equal times.
        tokens.sort_by_key(|token| token.created_at);
        Ok(tokens)
    }

    async fn revoke_token(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let mut state = self.lock();
        state.revoke_token(organisation_id, id, now)?;
        state.record(|| Act::new(organisation_id, "token.revoke", id))
    }

    async fn revoke_token_and_clients(
        &self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<u64, StorageError> {
        let mut state = self.lock();
        state.revoke_token(organisation_id, id, now)?;
        let clients: Vec<ClientId> = state.clients.of_token(id).map(|client| client.id).collect();
        let mut revoked = 0;
        for client in clients {
            let before = state.clients.get(client).is_some_and(|client| client.revoked_at.is_some());
            state.clients.revoke(organisation_id, client, now);
            // Selection must not draw a revoked client.
            state.pool.remove(client);
            revoked += u64::from(!before);
        }
        state.record(|| Act::tokens_clients_revoked(organisation_id, id, revoked))?;
        Ok(revoked)
    }
}

impl State {
    fn revoke_token(
        &mut self,
        organisation_id: OrganisationId,
        id: &str,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        check_moment(now)?;
        let token = self.tokens.get_mut(id).filter(|token| token.organisation_id == organisation_id);
        token.ok_or(StorageError::NotFound("token"))?.revoked_at.get_or_insert(now);
        Ok(())
    }

    fn create_token(&mut self, token: &TokenRecord) -> Result<(), StorageError> {
        let moments = [token.expires_at, token.closed_at, token.revoked_at].map(|at| at.map(|at| at.0));
        check_counts(moments.into_iter().chain([token.uses_max]).flatten())?;
        check_counts([token.uses, token.created_at.0])?;
        if self.tokens.contains_key(&token.id) {
            return Err(StorageError::NameTaken("token"));
        }
        self.check_population(token.organisation_id, &token.population)?;
        self.tokens.insert(token.id.clone(), token.clone());
        self.record(|| Act::token_created(token))
    }
}
