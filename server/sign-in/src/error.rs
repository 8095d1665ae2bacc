use std::fmt::Display;

use folkmoot_protocol::is_control;

/// A setting of `[sign_in]` is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sign_in.{key}: {message}")]
pub struct SignInConfigError {
    /// The key below `sign_in`.
    pub key: String,
    /// The fault of the value, and its remedy.
    pub message: String,
}

impl SignInConfigError {
    pub(crate) fn at(key: &str, message: impl Into<String>) -> Self {
        Self { key: key.to_owned(), message: message.into() }
    }
}

/// The reason why a person could not sign in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// The provider cannot be reached, or its answer is unusable.
    #[error("the identity provider cannot be used now: {0}; try again later")]
    Unavailable(String),
    /// The provider refused, or sent something that cannot be verified.
    #[error("the sign-in cannot be verified: {0}; start again")]
    Unverified(String),
    /// The person declined, or the code that the person had to enter has expired.
    #[error("the sign-in was not completed: {0}; start again")]
    NotCompleted(&'static str),
    /// The provider has no device authorization grant (RFC 8628) for this coordinator.
    #[error(
        "the identity provider does not let the command line sign in: {0}; allow the device authorization grant for the \
         coordinator's client at the provider, or use an API key"
    )]
    NoDeviceGrant(String),
    /// None of the person's groups has a role.
    #[error(
        "none of the groups of {name} has a role here; ask an admin to give one of them a role in sign_in.providers"
    )]
    NoRole {
        /// The stable id of the person at the provider.
        subject: String,
        /// The display name.
        name: String,
    },
}

impl SignInError {
    pub(crate) fn unavailable(reason: impl Display) -> Self {
        Self::Unavailable(short(reason))
    }

    pub(crate) fn no_device_grant(reason: impl Display) -> Self {
        Self::NoDeviceGrant(short(reason))
    }

    pub(crate) fn unverified(reason: impl Display) -> Self {
        Self::Unverified(short(reason))
    }
}

/// The longest reason that is kept, in characters. Reasons can quote a provider's answer.
const REASON_CHARACTERS_MAX: usize = 300;

fn short(reason: impl Display) -> String {
    let text = reason.to_string();
    text.chars().filter(|letter| !is_control(*letter)).take(REASON_CHARACTERS_MAX).collect()
}
