//! Reads secrets that the configuration names.

use folkmoot_notification::{Channels, NotificationConfigError};
use folkmoot_sign_in::{Providers, SignInConfig, SignInConfigError};

use super::HostConfig;

/// Reads the secrets of the channels for notices from files and from this process's environment.
pub(super) fn channels(config: &HostConfig, url: &str) -> Result<Channels, NotificationConfigError> {
    let url = config.sign_in.url.as_deref().unwrap_or(url);
    Channels::new(&config.notifications, url, &|name| std::env::var(name).ok())
}

/// Reads the identity providers' secrets from files and from this process's environment.
pub(super) fn providers(config: &SignInConfig, url: &str) -> Result<Providers, SignInConfigError> {
    Providers::new(config, url, &|name| std::env::var(name).ok())
}
