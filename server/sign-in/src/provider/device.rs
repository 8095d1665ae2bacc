//! Sign-in without a browser on the same machine: the device authorization grant (RFC 8628).

use folkmoot_protocol::{Timestamp, is_control};
use openidconnect::{
    AsyncHttpClient, DeviceCodeErrorResponse, DeviceCodeErrorResponseType, Nonce, RequestTokenError,
    core::{CoreDeviceAuthorizationResponse, CoreErrorResponseType},
    http::StatusCode,
    url::Url,
};

use super::Provider;
use crate::{Person, SignInError, client::Tokens, config::is_safe, metadata::with_cause};

/// The longest device code, in bytes. The RFC sets no limit.
pub const DEVICE_CODE_BYTES_MAX: usize = 4096;
/// The longest code that a person has to enter, in characters.
const USER_CODE_CHARACTERS_MAX: usize = 64;
/// The longest address at which a person enters the code, in bytes.
const URI_BYTES_MAX: usize = 2048;
/// The longest time in which a code can be entered, in seconds.
const EXPIRES_SECONDS_MAX: u64 = 3600;
/// The longest time between two questions, in seconds.
const INTERVAL_SECONDS_MAX: u64 = 60;
/// The grant type of the token request (RFC 8628, section 3.4).
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A sign-in that a person finishes in a browser on any machine.
#[derive(Clone, PartialEq, Eq)]
pub struct DeviceAuthorization {
    /// The secret with which the program asks for the result.
    pub device_code: String,
    /// The code that the person enters.
    pub user_code: String,
    /// The address at which the person enters the code.
    pub verification_uri: String,
    /// The same address with the code, if the provider has one.
    pub verification_uri_complete: Option<String>,
    /// The time in which the code can be entered, in seconds: 1 to 3600.
    pub expires_in_seconds: u64,
    /// The time to wait between two questions, in seconds: 1 to 60.
    pub interval_seconds: u64,
}

/// The state of a sign-in that a person finishes in a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceSignIn {
    /// The person has not finished yet.
    Pending,
    /// The person has not finished yet, and the program must wait 5 seconds longer between questions from now on.
    SlowDown,
    /// The provider confirms the person.
    Person(Person),
}

impl Provider {
    /// Begins a sign-in that a person finishes in a browser on any machine.
    ///
    /// # Errors
    /// [`SignInError::NoDeviceGrant`] if the provider does not support it for this coordinator;
    /// [`SignInError::Unverified`] if the provider refuses; [`SignInError::Unavailable`] if the provider cannot be
    /// reached or its answer is unusable.
    pub async fn device_authorization(&self, now: Timestamp) -> Result<DeviceAuthorization, SignInError> {
        let metadata = self.metadata(None, now).await?;
        let endpoint = metadata.additional_metadata().device_authorization_endpoint.clone();
        let missing = "its discovery document has no device_authorization_endpoint";
        let endpoint = endpoint.ok_or_else(|| SignInError::no_device_grant(missing))?;
        let client = self.client(&metadata).set_device_authorization_url(endpoint);
        let request = client.exchange_device_code().add_scopes(self.scopes.iter().cloned());
        let answer: Result<CoreDeviceAuthorizationResponse, _> = request.request_async(&self.http).await;
        let answer = answer.map_err(|error| match error {
            RequestTokenError::ServerResponse(refusal) => match refusal.error() {
                CoreErrorResponseType::UnauthorizedClient | CoreErrorResponseType::UnsupportedGrantType => {
                    SignInError::no_device_grant(refusal)
                }
                _ => SignInError::unverified(refusal),
            },
            RequestTokenError::Request(error) => SignInError::unavailable(error),
            error => SignInError::unavailable(with_cause(&error)),
        })?;
        usable(&answer)
    }

    /// Asks the provider once whether the person has finished.
    ///
    /// There is no nonce in this flow, because the person's browser never comes to the coordinator. Only the holder of
    /// the device code gets the ID token, and directly from the provider.
    ///
    /// # Errors
    /// [`SignInError::NotCompleted`] if the person declined or the code has expired; otherwise those of
    /// [`Provider::person`].
    pub async fn device_person(
        &self,
        device_code: &str,
        now: Timestamp,
    ) -> Result<DeviceSignIn, SignInError> {
        if device_code.is_empty() || device_code.len() > DEVICE_CODE_BYTES_MAX {
            let reason = format!("the device code is not 1 to {DEVICE_CODE_BYTES_MAX} bytes");
            return Err(SignInError::unverified(reason));
        }
        let metadata = self.metadata(None, now).await?;
        // The library repeats its request until the person has finished, so this request is built here.
        let missing = || SignInError::unavailable("its discovery document has no token_endpoint");
        let endpoint = metadata.token_endpoint().ok_or_else(missing)?;
        let form = [("grant_type", GRANT), ("device_code", device_code)];
        let request = self.form(&metadata, endpoint, &form)?;
        let answer = self.http.call(request).await.map_err(SignInError::unavailable)?;
        let unreadable = |error| SignInError::unavailable(format!("its answer cannot be read: {error}"));
        if answer.status() == StatusCode::OK {
            let tokens: Tokens = serde_json::from_slice(answer.body()).map_err(unreadable)?;
            let person = self.verified(&tokens, &metadata, |_: Option<&Nonce>| Ok(()), now).await?;
            return Ok(DeviceSignIn::Person(person));
        }
        let refusal: DeviceCodeErrorResponse = serde_json::from_slice(answer.body()).map_err(unreadable)?;
        match refusal.error() {
            DeviceCodeErrorResponseType::AuthorizationPending => Ok(DeviceSignIn::Pending),
            DeviceCodeErrorResponseType::SlowDown => Ok(DeviceSignIn::SlowDown),
            DeviceCodeErrorResponseType::AccessDenied => {
                Err(SignInError::NotCompleted("it was declined at the identity provider"))
            }
            DeviceCodeErrorResponseType::ExpiredToken => {
                Err(SignInError::NotCompleted("nobody entered the code in time"))
            }
            DeviceCodeErrorResponseType::Basic(_) => Err(SignInError::unverified(refusal)),
        }
    }
}

/// Checks a provider's answer, whose parts a program prints, and limits its times.
fn usable(answer: &CoreDeviceAuthorizationResponse) -> Result<DeviceAuthorization, SignInError> {
    let wrong = |field: &str| {
        SignInError::unavailable(format!("the {field} of its answer is empty, too long or not valid"))
    };
    let (device_code, user_code) = (answer.device_code().secret(), answer.user_code().secret());
    if device_code.is_empty() || device_code.len() > DEVICE_CODE_BYTES_MAX {
        return Err(wrong("device_code"));
    }
    let is_plain = !user_code.trim().is_empty() && !user_code.chars().any(is_control);
    if !is_plain || user_code.chars().count() > USER_CODE_CHARACTERS_MAX {
        return Err(wrong("user_code"));
    }
    let address = |text: &str| {
        let url = Url::parse(text).ok().filter(is_safe).map(String::from);
        url.filter(|url| url.len() <= URI_BYTES_MAX)
    };
    let verification_uri = address(answer.verification_uri()).ok_or_else(|| wrong("verification_uri"))?;
    Ok(DeviceAuthorization {
        device_code: device_code.clone(),
        user_code: user_code.clone(),
        verification_uri,
        verification_uri_complete: answer.verification_uri_complete().and_then(|uri| address(uri.secret())),
        expires_in_seconds: answer.expires_in().as_secs().clamp(1, EXPIRES_SECONDS_MAX),
        interval_seconds: answer.interval().as_secs().clamp(1, INTERVAL_SECONDS_MAX),
    })
}
