//! Requests about single clients: looking them up and revoking them.

use std::fmt::Display;

use folkmoot_protocol::ClientId;
use reqwest::Method;

use super::{AdminClient, AdminError, Page, paged, request};
use crate::{
    clients::{ClientView, RevokedClient},
    tokens::RevokedTokenClients,
};

impl AdminClient {
    /// Returns a client, by its id, the beginning of its id or the name of its site, and the token that it enrolled with.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn client(&self, id: impl Display) -> Result<ClientView, AdminError> {
        self.get(&format!("clients/{}", request::segment(id))).await
    }

    /// Revokes a client, by its id, the beginning of its id or the name of its site. Unless `keep_token_open` is true, also closes its enrolment token to new clients.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn revoke_client(
        &self,
        id: impl Display,
        keep_token_open: bool,
    ) -> Result<RevokedClient, AdminError> {
        let id = request::segment(id);
        let path = format!("clients/{id}/revoke?keep_token_open={keep_token_open}");
        self.ask(Method::POST, &path).await
    }

    /// Lists the clients that enrolled with a token, newest first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn clients_of_token(
        &self,
        token: &str,
        page: Page<ClientId>,
    ) -> Result<Vec<ClientView>, AdminError> {
        self.get(&paged(&format!("tokens/{}/clients", request::segment(token)), page)).await
    }

    /// Revokes a token and every client that enrolled with it.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn revoke_token_and_clients(&self, token: &str) -> Result<RevokedTokenClients, AdminError> {
        self.ask(Method::POST, &format!("tokens/{}/revoke-clients", request::segment(token))).await
    }
}
