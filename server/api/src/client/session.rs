//! Requests about the caller, and sign-in with an identity provider.

use reqwest::{Method, StatusCode};

use super::{AdminClient, AdminError, request};
use crate::session::{
    CallerView, DeviceSignInRequest, DeviceSignInState, DeviceSignInView, ProvidersView, SignedOutView,
};

impl AdminClient {
    /// Returns the holder of the API key or session.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn me(&self) -> Result<CallerView, AdminError> {
        self.get("me").await
    }

    /// Lists the identity providers. Needs no key.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn identity_providers(&self) -> Result<ProvidersView, AdminError> {
        self.get("sign-in").await
    }

    /// Begins a sign-in that a person finishes in a browser. Needs no key.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator or the provider cannot be reached or refuses the request.
    pub async fn begin_device_sign_in(&self, provider: &str) -> Result<DeviceSignInView, AdminError> {
        self.ask(Method::POST, &format!("sign-in/{}/device", request::segment(provider))).await
    }

    /// Asks once whether the person has finished. Needs no key.
    ///
    /// # Errors
    /// [`AdminError`] if the person declined, the code has expired, or the coordinator or the provider cannot be
    /// reached or refuses the request.
    pub async fn device_sign_in(
        &self,
        provider: &str,
        device_code: &str,
    ) -> Result<DeviceSignInState, AdminError> {
        let request = DeviceSignInRequest { device_code: device_code.to_owned() };
        self.send(&format!("sign-in/{}/device/token", request::segment(provider)), &request).await
    }

    /// Ends the session that this client sends. Succeeds even if it has already ended. Returns where the person also
    /// signs out at the identity provider, if there is such a page.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn sign_out(&self) -> Result<Option<SignedOutView>, AdminError> {
        let response = self.answer(Method::DELETE, "session").await?;
        match response.status() {
            StatusCode::NO_CONTENT => Ok(None),
            _ => request::parsed(response).await.map(Some),
        }
    }
}
