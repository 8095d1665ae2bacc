use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use folkmoot_coordinator::task::Candidate;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, Timestamp};

use crate::CheckInRecord;

/// The waiting clients, with at most one check-in each.
#[derive(Default)]
pub(super) struct Pool {
    /// For each client, the population where it waits and the expiry of its check-in.
    places: HashMap<ClientId, (PopulationKey, Timestamp)>,
    populations: HashMap<PopulationKey, Waiters>,
}

type PopulationKey = (OrganisationId, PopulationName);

/// The waiting clients of one population.
#[derive(Default)]
struct Waiters {
    by_client: BTreeMap<ClientId, Arc<Candidate>>,
    /// The check-ins by expiry, so that expired check-ins are skipped quickly.
    by_end: BTreeSet<(Timestamp, ClientId)>,
}

impl Pool {
    /// Returns whether the client is in the pool.
    pub(super) fn contains(&self, client: ClientId) -> bool {
        self.places.contains_key(&client)
    }

    /// Returns the properties that a client reported when it checked in; `None` if the client is not in the pool.
    pub(super) fn get(&self, client: ClientId) -> Option<&Candidate> {
        let (population, _) = self.places.get(&client)?;
        self.populations.get(population)?.by_client.get(&client).map(Arc::as_ref)
    }

    /// Adds a check-in, which replaces the client's last one.
    pub(super) fn insert(&mut self, check_in: &CheckInRecord) {
        let client = check_in.candidate.client_id;
        self.remove(client);
        let population = (check_in.organisation_id, check_in.population.clone());
        let waiters = self.populations.entry(population.clone()).or_default();
        waiters.by_client.insert(client, Arc::new(check_in.candidate.clone()));
        waiters.by_end.insert((check_in.expires_at, client));
        self.places.insert(client, (population, check_in.expires_at));
    }

    /// Removes a client. Returns whether the client was in the pool.
    pub(super) fn remove(&mut self, client: ClientId) -> bool {
        let Some((population, end)) = self.places.remove(&client) else { return false };
        if let Some(waiters) = self.populations.get_mut(&population) {
            waiters.by_client.remove(&client);
            waiters.by_end.remove(&(end, client));
        }
        true
    }

    /// Removes a client if its check-in expires at `expires_at`. Returns whether the client was removed.
    pub(super) fn remove_offer(&mut self, client: ClientId, expires_at: Timestamp) -> bool {
        let is_same = self.places.get(&client).is_some_and(|(_, end)| *end == expires_at);
        is_same && self.remove(client)
    }

    /// Lists the population's clients whose check-in is valid at `now`, by id.
    pub(super) fn waiting(
        &self,
        organisation_id: OrganisationId,
        population: &PopulationName,
        now: Timestamp,
    ) -> Vec<&Arc<Candidate>> {
        let Some(waiters) = self.populations.get(&(organisation_id, population.clone())) else {
            return Vec::new();
        };
        let is_over = waiters.by_end.first().is_some_and(|(end, _)| *end < now);
        if !is_over {
            return waiters.by_client.values().collect();
        }
        let hold = waiters.by_end.range((now, ClientId::from_bytes([0; 16]))..);
        let mut clients: Vec<ClientId> = hold.map(|(_, client)| *client).collect();
        clients.sort_unstable();
        clients.iter().filter_map(|client| waiters.by_client.get(client)).collect()
    }

    /// Removes the check-ins that expired before `now`, and returns their number.
    pub(super) fn remove_expired(&mut self, now: Timestamp) -> u64 {
        let mut count = 0;
        for waiters in self.populations.values_mut() {
            while let Some((end, client)) = waiters.by_end.pop_first() {
                if end >= now {
                    waiters.by_end.insert((end, client));
                    break;
                }
                waiters.by_client.remove(&client);
                self.places.remove(&client);
                count += 1;
            }
        }
        count
    }
}
