use std::collections::HashMap;

use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp, UserKey};

use crate::ClientRecord;

/// The clients, indexed by id and by key.
#[derive(Default)]
pub(in crate::memory) struct ClientTable {
    by_id: HashMap<ClientId, ClientRecord>,
    by_key: HashMap<(OrganisationId, PopulationName, String), ClientId>,
    by_user: HashMap<UserKey, Vec<ClientId>>,
    /// The number of clients that are not revoked, by population.
    counts: HashMap<(OrganisationId, PopulationName), u64>,
}

impl ClientTable {
    /// Finds a client.
    pub(in crate::memory) fn get(&self, id: ClientId) -> Option<&ClientRecord> {
        self.by_id.get(&id)
    }

    /// Returns whether the client belongs to the organisation.
    pub(in crate::memory) fn is_of(&self, id: ClientId, organisation_id: OrganisationId) -> bool {
        self.get(id).is_some_and(|client| client.organisation_id == organisation_id)
    }

    /// Finds the population's client with this key.
    pub(in crate::memory) fn with_key(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        public_key: &str,
    ) -> Option<&ClientRecord> {
        let key = (organisation_id, population.clone(), public_key.to_owned());
        self.by_key.get(&key).and_then(|id| self.by_id.get(id))
    }

    /// Counts the population's clients that are not revoked.
    pub(in crate::memory) fn count(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> u64 {
        self.counts.get(&(organisation_id, population.clone())).copied().unwrap_or(0)
    }

    /// Returns whether any client ever enrolled in the population.
    pub(in crate::memory) fn has_any(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> bool {
        self.counts.contains_key(&(organisation_id, population.clone()))
    }

    /// Lists the devices of a user.
    pub(in crate::memory) fn of_user(&self, user: UserKey) -> impl Iterator<Item = ClientId> {
        self.by_user.get(&user).into_iter().flatten().copied()
    }

    /// Lists the clients that enrolled with a token, in no particular order.
    pub(in crate::memory) fn of_token(&self, token_id: &str) -> impl Iterator<Item = &ClientRecord> {
        self.by_id.values().filter(move |client| client.token_id.as_deref() == Some(token_id))
    }

    /// Adds a client with a new id and key.
    pub(in crate::memory) fn insert(&mut self, client: ClientRecord) {
        let population = (client.organisation_id, client.population.clone());
        let key = (client.organisation_id, client.population.clone(), client.public_key.clone());
        *self.counts.entry(population).or_default() += u64::from(client.revoked_at.is_none());
        self.by_key.insert(key, client.id);
        if let Some(user) = client.user_key {
            self.by_user.entry(user).or_default().push(client.id);
        }
        self.by_id.insert(client.id, client);
    }

    /// Revokes the organisation's client, unless it is already revoked, and returns it.
    pub(in crate::memory) fn revoke(
        &mut self,
        organisation_id: OrganisationId,
        id: ClientId,
        now: Timestamp,
    ) -> Option<&ClientRecord> {
        let client = self.by_id.get_mut(&id).filter(|client| client.organisation_id == organisation_id)?;
        if client.revoked_at.is_none() {
            client.revoked_at = Some(now);
            let population = (organisation_id, client.population.clone());
            *self.counts.entry(population).or_insert(1) -= 1;
        }
        Some(client)
    }
}
