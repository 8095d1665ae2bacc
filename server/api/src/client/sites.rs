//! Requests about named sites, and the settings of populations that only admins change.

use folkmoot_coordinator::ClientKind;
use folkmoot_protocol::{ClientId, PopulationName};

use super::{AdminClient, AdminError};
use crate::{
    populations::{
        ChangeRolloutRequest, CreateRolloutRequest, PopulationView, RolloutView, SetDownloadsRequest,
    },
    sites::{SetClientsRequest, SitesView},
};

impl AdminClient {
    /// Sets whether a population's clients are an anonymous crowd or named sites. Creates the population if it does not
    /// exist.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request, for example because a client has
    /// enrolled.
    pub async fn set_client_kind(
        &self,
        population: &PopulationName,
        clients: ClientKind,
    ) -> Result<PopulationView, AdminError> {
        self.send(&format!("populations/{population}/clients"), &SetClientsRequest { clients }).await
    }

    /// Sets whether viewers may download the models of a population's tasks. Creates the population if it does not exist.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn set_viewers_download(
        &self,
        population: &PopulationName,
        viewers_download: bool,
    ) -> Result<PopulationView, AdminError> {
        let request = SetDownloadsRequest { viewers_download };
        self.send(&format!("populations/{population}/downloads"), &request).await
    }

    /// Rolls a model version out to devices of a population.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_rollout(
        &self,
        population: &PopulationName,
        request: &CreateRolloutRequest,
    ) -> Result<RolloutView, AdminError> {
        self.send(&format!("populations/{population}/rollouts"), request).await
    }

    /// Lists at most `limit` rollouts of a population, newest first, those below the number `before` if it is given.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn rollouts(
        &self,
        population: &PopulationName,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<RolloutView>, AdminError> {
        let before = before.map(|before| format!("&before={before}")).unwrap_or_default();
        self.get(&format!("populations/{population}/rollouts?limit={limit}{before}")).await
    }

    /// Changes a rollout.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn change_rollout(
        &self,
        population: &PopulationName,
        number: u64,
        request: &ChangeRolloutRequest,
    ) -> Result<RolloutView, AdminError> {
        self.send(&format!("populations/{population}/rollouts/{number}"), request).await
    }

    /// Lists at most `limit` sites of a population by name, those after the client `after` if one is given.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request, for example because the population is
    /// a crowd.
    pub async fn sites(
        &self,
        population: &PopulationName,
        limit: u32,
        after: Option<ClientId>,
    ) -> Result<SitesView, AdminError> {
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        self.get(&format!("populations/{population}/sites?limit={limit}{after}")).await
    }
}
