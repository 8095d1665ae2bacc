use async_trait::async_trait;
use folkmoot_coordinator::privacy::PopulationPrivacy;
use folkmoot_protocol::{OrganisationId, PopulationName, Timestamp};

use crate::StorageError;

/// All clients that are enrolled for one app's data.
#[derive(Clone, Debug, PartialEq)]
pub struct PopulationRecord {
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// Its name, unique in the organisation.
    pub name: PopulationName,
    /// Whom its tasks' promises protect, and what all of them may spend.
    pub privacy: PopulationPrivacy,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Organisations and their populations.
#[async_trait]
pub trait PopulationRepository {
    /// Makes the organisation if there is none of this name, and returns its id either way.
    async fn ensure_organisation(
        &self,
        name: &str,
        id_if_new: OrganisationId,
        now: Timestamp,
    ) -> Result<OrganisationId, StorageError>;

    /// Makes the population if there is none of this name.
    async fn ensure_population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        now: Timestamp,
    ) -> Result<PopulationRecord, StorageError>;

    /// Finds a population.
    async fn population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
    ) -> Result<Option<PopulationRecord>, StorageError>;

    /// Says whom the promises in a population protect and what all its tasks may spend. `false`, and nothing changes, if
    /// it would protect others than before while somebody is enrolled: what was promised them would not hold.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such population.
    async fn set_population_privacy(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        privacy: &PopulationPrivacy,
    ) -> Result<bool, StorageError>;

    /// Lists the organisation's populations, by name.
    async fn populations(
        &self,
        organisation_id: OrganisationId,
    ) -> Result<Vec<PopulationRecord>, StorageError>;
}
