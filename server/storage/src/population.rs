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

/// What is to hold in a population, and who says so.
#[derive(Clone, Copy, Debug)]
pub struct PrivacyChange<'a> {
    /// What is to hold.
    pub privacy: PopulationPrivacy,
    /// Why it promises less than before, if that is meant.
    pub weakened: Option<&'a str>,
    /// The API key with which it is set.
    pub by: &'a str,
    /// When.
    pub now: Timestamp,
}

/// What became of an attempt to set what holds in a population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivacyOutcome {
    /// It holds from now on.
    Set,
    /// It would protect others than before while somebody is enrolled: what was promised them would not hold.
    UnitDiffers,
    /// It promises less than before, and no reason is given.
    Weaker,
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

    /// Says whom the promises in a population protect and what all its tasks may spend, and writes it into the
    /// population's ledger, in one transaction. What holds already is not written again.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such population.
    async fn set_population_privacy(
        &self,
        organisation_id: OrganisationId,
        name: &PopulationName,
        change: &PrivacyChange<'_>,
    ) -> Result<PrivacyOutcome, StorageError>;

    /// Lists the organisation's populations, by name.
    async fn populations(
        &self,
        organisation_id: OrganisationId,
    ) -> Result<Vec<PopulationRecord>, StorageError>;
}
