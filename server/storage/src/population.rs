use std::future::Future;

use folkmoot_protocol::{OrganisationId, PopulationName, Timestamp};

use crate::StorageError;

/// All clients that are enrolled for one app's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PopulationRecord {
    /// Its organisation.
    pub organisation_id: OrganisationId,
    /// Its name, unique in the organisation.
    pub name: PopulationName,
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

    /// Lists the organisation's populations, by name.
    fn populations(
        &self,
        organisation_id: OrganisationId,
    ) -> impl Future<Output = Result<Vec<PopulationRecord>, StorageError>> + Send;
}
