mod rollout;

use async_trait::async_trait;
use folkmoot_coordinator::{ClientKind, privacy::PopulationPrivacy};
use folkmoot_protocol::{OrganisationId, PopulationName, Timestamp};

pub use rollout::{ROLLOUTS_OFFERED_MAX, RolloutChange, RolloutRecord};

use crate::StorageError;

/// All clients that are enrolled for one app's data.
#[derive(Clone, Debug, PartialEq)]
pub struct PopulationRecord {
    /// The organisation of the population.
    pub organisation_id: OrganisationId,
    /// The population's name, unique in the organisation.
    pub name: PopulationName,
    /// The kind of the clients: named sites or an anonymous crowd.
    pub clients: ClientKind,
    /// The unit of privacy, and the common privacy budget of all tasks.
    pub privacy: PopulationPrivacy,
    /// True if viewers and privacy officers may download the models of the population's tasks.
    pub viewers_download: bool,
    /// When the population was created.
    pub created_at: Timestamp,
}

/// A change of a population's privacy settings.
#[derive(Clone, Copy, Debug)]
pub struct PrivacyChange<'a> {
    /// The new settings.
    pub privacy: PopulationPrivacy,
    /// The reason for weakening the settings; required if they promise less than before.
    pub weakened: Option<&'a str>,
    /// True if the author may weaken the settings. The transaction compares the change with the stored settings, so nobody
    /// undoes a concurrent change.
    pub may_weaken: bool,
    /// The id of the API key that makes the change.
    pub by: &'a str,
    /// The current time.
    pub now: Timestamp,
}

/// The result of an attempt to change a population's privacy settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivacyOutcome {
    /// The settings are now in effect.
    Set,
    /// The unit of privacy would change while clients are enrolled. That would break the promises to them.
    UnitDiffers,
    /// The settings promise less than before, and the author may not do that.
    NotAllowed,
    /// The settings promise less than before, and no reason was given.
    Weaker,
}

/// Stores organisations and their populations.
#[async_trait]
pub trait PopulationRepository {
    /// Creates the organisation if its name is new, and returns its id in any case.
    async fn ensure_organisation(
        &self,
        name: &str,
        id_if_new: OrganisationId,
        now: Timestamp,
    ) -> Result<OrganisationId, StorageError>;

    /// Creates the population if its name is new.
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

    /// Sets a population's unit of privacy and its budget, and records them in the population's ledger, in one
    /// transaction. Unchanged settings are not recorded again.
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
