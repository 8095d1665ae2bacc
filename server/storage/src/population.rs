use std::future::Future;

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
pub trait PopulationRepository {
    /// Makes the organisation if there is none of this name, and returns its id either way.
    fn ensure_organisation(
        &self,
        name: &str,
        id_if_new: OrganisationId,
        now: Timestamp,
    ) -> impl Future<Output = Result<OrganisationId, StorageError>> + Send;

    /// Makes the population if there is none of this name.
    fn ensure_population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        now: Timestamp,
    ) -> impl Future<Output = Result<PopulationRecord, StorageError>> + Send;

    /// Finds a population.
    fn population(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
    ) -> impl Future<Output = Result<Option<PopulationRecord>, StorageError>> + Send;

    /// Says whom the promises in a population protect and what all its tasks may spend. `false`, and nothing changes, if
    /// it would protect others than before while somebody is enrolled: what was promised them would not hold.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such population.
    fn set_population_privacy(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        privacy: &PopulationPrivacy,
    ) -> impl Future<Output = Result<bool, StorageError>> + Send;

    /// Lists the organisation's populations, by name.
    fn populations(
        &self,
        organisation_id: OrganisationId,
    ) -> impl Future<Output = Result<Vec<PopulationRecord>, StorageError>> + Send;
}
