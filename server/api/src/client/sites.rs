//! Requests about named sites, and the settings of populations that only admins change.

use folkmoot_coordinator::ClientKind;
use folkmoot_protocol::{ClientId, PopulationName};

use super::{AdminClient, AdminError};
use crate::{
    populations::{PopulationView, SetDownloadsRequest},
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
