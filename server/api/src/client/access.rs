//! Requests about API keys, and requests that only system administrators may send.

use folkmoot_protocol::{DisplayName, OrganisationId, Role};
use reqwest::Method;

use super::{AdminClient, AdminError, request};
use crate::{
    api_keys::{ApiKeyView, CreatedApiKey, RotateApiKeyRequest},
    organisations::{
        ClosedOrganisationView, CreateOrganisationRequest, CreatedOrganisation, OrganisationView,
    },
    usage::{DayUsageView, QuotasView, UsageView},
};

impl AdminClient {
    /// Lists all organisations, oldest first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn organisations(&self) -> Result<Vec<OrganisationView>, AdminError> {
        self.get("organisations").await
    }

    /// Creates an organisation, and returns its first API key, which has the role `admin`.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_organisation(&self, name: DisplayName) -> Result<CreatedOrganisation, AdminError> {
        self.send("organisations", &CreateOrganisationRequest { name }).await
    }

    /// Replaces an organisation's quotas.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn set_quotas(
        &self,
        id: OrganisationId,
        quotas: &QuotasView,
    ) -> Result<QuotasView, AdminError> {
        self.send(&format!("organisations/{id}/quotas"), quotas).await
    }

    /// Lists the usage of every organisation's clients. `from` and `to` are days (UTC), such as `2026-01-31`.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn usage_of_all(
        &self,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<Vec<DayUsageView>, AdminError> {
        self.get(&of_days("organisations/usage", from, to)).await
    }

    /// Returns the organisation's current size, and the usage of its clients. `from` and `to` are days (UTC), such as
    /// `2026-01-31`.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn usage(&self, from: Option<&str>, to: Option<&str>) -> Result<UsageView, AdminError> {
        self.get(&of_days("usage", from, to)).await
    }

    /// Closes an organisation forever: revokes its credentials and cancels its tasks. Its data stays.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn close_organisation(&self, id: OrganisationId) -> Result<ClosedOrganisationView, AdminError> {
        self.ask(Method::POST, &format!("organisations/{id}/close")).await
    }

    /// Creates an API key. Only this response contains its secret.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_api_key(&self, name: &str, role: Role) -> Result<CreatedApiKey, AdminError> {
        self.create_api_key_for(name, role, None).await
    }

    /// Creates an API key that is valid for this many seconds, or until it is revoked. The response is the only one with
    /// its secret.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_api_key_for(
        &self,
        name: &str,
        role: Role,
        expires_in_seconds: Option<u64>,
    ) -> Result<CreatedApiKey, AdminError> {
        // The name is sent unchecked: the coordinator validates it.
        let mut body = serde_json::json!({ "name": name, "role": role });
        if let Some(seconds) = expires_in_seconds {
            // Older coordinators do not know the field.
            body["expires_in_seconds"] = seconds.into();
        }
        self.send("api-keys", &body).await
    }

    /// Lists API keys, oldest first, without their secrets.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn api_keys(&self) -> Result<Vec<ApiKeyView>, AdminError> {
        self.get("api-keys").await
    }

    /// Gives an API key a new secret, which only this response contains. The old one stays valid for `overlap_seconds`.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn rotate_api_key(&self, id: &str, overlap_seconds: u64) -> Result<CreatedApiKey, AdminError> {
        let request = RotateApiKeyRequest { overlap_seconds: Some(overlap_seconds) };
        self.send(&format!("api-keys/{}/rotate", request::segment(id)), &request).await
    }

    /// Revokes an API key. A key cannot revoke itself.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn revoke_api_key(&self, id: &str) -> Result<(), AdminError> {
        self.ask_nothing(Method::DELETE, &format!("api-keys/{}", request::segment(id))).await
    }
}

fn of_days(path: &str, from: Option<&str>, to: Option<&str>) -> String {
    let given = [("from", from), ("to", to)].into_iter().filter_map(|(name, day)| Some((name, day?)));
    let query: Vec<String> = given.map(|(name, day)| format!("{name}={}", request::segment(day))).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}
