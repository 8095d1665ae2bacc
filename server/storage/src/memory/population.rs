use async_trait::async_trait;
use folkmoot_coordinator::{ClientKind, privacy::PopulationPrivacy};
use folkmoot_protocol::{OrganisationId, PopulationName, Timestamp};

use super::{MemoryStorage, State, counts::check_moment};
use crate::{
    PopulationRecord, PopulationRepository, PrivacyChange, PrivacyOutcome, StorageError, audit::Act,
    ledger::settings_event,
};

#[async_trait]
impl PopulationRepository for MemoryStorage {
    async fn ensure_organisation(
        &self,
        name: &str,
        id_if_new: OrganisationId,
        now: Timestamp,
    ) -> Result<OrganisationId, StorageError> {
        self.lock().ensure_organisation(name, id_if_new, now)
    }

    async fn ensure_population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        now: Timestamp,
    ) -> Result<PopulationRecord, StorageError> {
        self.lock().ensure_population(organisation_id, name, now)
    }

    async fn population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
    ) -> Result<Option<PopulationRecord>, StorageError> {
        let state = self.lock();
        Ok(state.populations.get(&organisation_id).and_then(|populations| populations.get(name)).cloned())
    }

    async fn set_population_privacy(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        change: &PrivacyChange<'_>,
    ) -> Result<PrivacyOutcome, StorageError> {
        let PrivacyChange { privacy, weakened, may_weaken, by, now } = *change;
        check_moment(now)?;
        let state = &mut *self.lock();
        let State { populations, clients, .. } = state;
        let population = populations.get_mut(&organisation_id).and_then(|names| names.get_mut(name));
        let population = population.ok_or(StorageError::NotFound("population"))?;
        let before = population.privacy;
        if before == privacy {
            return Ok(PrivacyOutcome::Set);
        }
        if before.unit != privacy.unit && clients.has_any(organisation_id, name) {
            return Ok(PrivacyOutcome::UnitDiffers);
        }
        let is_weaker = privacy.is_weaker_than(&before);
        if !may_weaken && (is_weaker || privacy.protects_fewer_than(&before)) {
            return Ok(PrivacyOutcome::NotAllowed);
        }
        if is_weaker && weakened.is_none() {
            return Ok(PrivacyOutcome::Weaker);
        }
        population.privacy = privacy;
        let event = settings_event(&privacy, weakened.filter(|_| is_weaker), by);
        state.append(organisation_id, name, now, event);
        state.record(|| Act::privacy_set(organisation_id, name, &before, change))?;
        Ok(PrivacyOutcome::Set)
    }

    async fn populations(
        &self,
        organisation_id: OrganisationId,
    ) -> Result<Vec<PopulationRecord>, StorageError> {
        let state = self.lock();
        let populations = state.populations.get(&organisation_id);
        Ok(populations.into_iter().flat_map(|populations| populations.values()).cloned().collect())
    }
}

impl State {
    fn ensure_organisation(
        &mut self,
        name: &str,
        id_if_new: OrganisationId,
        now: Timestamp,
    ) -> Result<OrganisationId, StorageError> {
        check_moment(now)?;
        if let Some(id) = self.organisation_ids.get(name) {
            return Ok(*id);
        }
        if self.populations.contains_key(&id_if_new) {
            return Err(StorageError::NameTaken("organisation"));
        }
        self.organisation_ids.insert(name.to_owned(), id_if_new);
        self.populations.entry(id_if_new).or_default();
        Ok(id_if_new)
    }

    fn ensure_population(
        &mut self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        now: Timestamp,
    ) -> Result<PopulationRecord, StorageError> {
        check_moment(now)?;
        let populations = self.populations.get_mut(&organisation_id);
        let populations = populations.ok_or(StorageError::NotFound("organisation"))?;
        let make = || PopulationRecord {
            organisation_id,
            name: name.clone(),
            clients: ClientKind::Crowd,
            viewers_download: true,
            privacy: PopulationPrivacy::default(),
            created_at: now,
        };
        Ok(populations.entry(name.clone()).or_insert_with(make).clone())
    }

    /// Returns an error if the organisation does not exist.
    pub(super) fn check_organisation(&self, id: OrganisationId) -> Result<(), StorageError> {
        match self.populations.contains_key(&id) {
            true => Ok(()),
            false => Err(StorageError::NotFound("organisation")),
        }
    }

    /// Returns an error if the organisation has no such population.
    pub(super) fn check_population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
    ) -> Result<(), StorageError> {
        match self.populations.get(&organisation_id).is_some_and(|names| names.contains_key(name)) {
            true => Ok(()),
            false => Err(StorageError::NotFound("population")),
        }
    }
}
