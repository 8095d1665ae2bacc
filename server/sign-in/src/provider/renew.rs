//! Renewal of a session with a refresh token (OpenID Connect Core 1.0, section 12).

use folkmoot_protocol::Timestamp;
use openidconnect::{
    AsyncHttpClient, Nonce, OAuth2TokenResponse, RequestTokenError, TokenResponse,
    core::CoreErrorResponseType,
};

use super::Provider;
use crate::{Person, RefreshToken, SignInError, metadata::with_cause};

impl Provider {
    /// Asks the provider again for the person `subject`, whose name and groups may have changed.
    ///
    /// Returns `None` if the provider's answer has no ID token, which the specification allows. The groups are then no
    /// longer confirmed.
    ///
    /// # Errors
    /// [`SignInError::Unverified`] if the provider refuses the token, or confirms somebody else;
    /// [`SignInError::NoRole`] if no group of the person has a role now; [`SignInError::Unavailable`] if the provider
    /// cannot be reached, or does not accept the coordinator itself.
    pub async fn renew(
        &self,
        token: &RefreshToken,
        subject: &str,
        now: Timestamp,
    ) -> Result<Option<Person>, SignInError> {
        let metadata = self.metadata(None, now).await?;
        let client = self.client(&metadata);
        let token = openidconnect::RefreshToken::new(token.text().to_owned());
        let request = client.exchange_refresh_token(&token).map_err(SignInError::unavailable)?;
        let mut tokens = request.request_async(&self.http).await.map_err(|error| match error {
            RequestTokenError::ServerResponse(refusal) => match refusal.error() {
                CoreErrorResponseType::InvalidGrant => SignInError::unverified(refusal),
                _ => SignInError::unavailable(refusal),
            },
            RequestTokenError::Request(error) => SignInError::unavailable(error),
            error => SignInError::unavailable(with_cause(&error)),
        })?;
        if tokens.id_token().is_none() {
            return Ok(None);
        }
        if tokens.refresh_token().is_none() {
            // Providers that do not rotate their tokens send none.
            tokens.set_refresh_token(Some(token.clone()));
        }
        // The first ID token's nonce is not kept, and a renewed one need not have any.
        let person = self.verified(&tokens, &metadata, |_: Option<&Nonce>| Ok(()), now).await;
        let confirmed = match &person {
            Ok(person) => &person.subject,
            Err(SignInError::NoRole { subject, .. }) => subject,
            Err(_) => return person.map(Some),
        };
        if confirmed != subject {
            return Err(SignInError::unverified("the provider confirmed another person"));
        }
        person.map(Some)
    }

    /// Revokes a refresh token, if the provider has an endpoint for it (RFC 7009).
    ///
    /// # Errors
    /// [`SignInError::Unavailable`] if the provider cannot be reached or refuses.
    pub async fn revoke(&self, token: &RefreshToken, now: Timestamp) -> Result<(), SignInError> {
        let metadata = self.metadata(None, now).await?;
        let Some(endpoint) = metadata.additional_metadata().revocation_endpoint.clone() else {
            return Ok(());
        };
        let form = [("token", token.text()), ("token_type_hint", "refresh_token")];
        let request = self.form(&metadata, &endpoint, &form)?;
        let answer = self.http.call(request).await.map_err(SignInError::unavailable)?;
        match answer.status().is_success() {
            true => Ok(()),
            false => {
                Err(SignInError::unavailable(format!("it answered with the status {}", answer.status())))
            }
        }
    }
}
