#![doc = include_str!("../README.md")]

mod attempt;
mod claims;
mod client;
mod config;
mod error;
mod http;
#[cfg(any(test, feature = "test-issuer"))]
pub mod issuer;
mod metadata;
mod person;
mod provider;
mod providers;
mod refresh_token;

pub use attempt::Attempt;
pub use config::{ProviderConfig, SignInConfig};
pub use error::{SignInConfigError, SignInError};
pub use person::{Person, Renewal};
pub use provider::{
    Provider,
    device::{DEVICE_CODE_BYTES_MAX, DeviceAuthorization, DeviceSignIn},
};
pub use providers::Providers;
pub use refresh_token::{RefreshToken, SealError};

#[cfg(test)]
mod tests;
