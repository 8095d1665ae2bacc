use std::collections::BTreeMap;

use folkmoot_protocol::Role;

use crate::{Provider, SignInConfig, SignInConfigError, http::HttpLimits, provider::SessionTimes};

/// The identity providers of a coordinator, by name.
#[derive(Debug, Default)]
pub struct Providers(BTreeMap<String, Provider>);

impl Providers {
    /// Creates the providers. Reads secrets and certificates, and sends no request.
    ///
    /// `address` is where the coordinator listens, for example `https://127.0.0.1:8443`. It is used if the
    /// configuration has no address.
    ///
    /// # Errors
    /// [`SignInConfigError`] if a setting is wrong, or a file or environment variable that it names cannot be read.
    pub fn new(
        config: &SignInConfig,
        address: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, SignInConfigError> {
        Self::with_limits(config, address, environment, HttpLimits::default())
    }

    pub(crate) fn with_limits(
        config: &SignInConfig,
        address: &str,
        environment: &dyn Fn(&str) -> Option<String>,
        limits: HttpLimits,
    ) -> Result<Self, SignInConfigError> {
        config.check()?;
        let address = config.url.as_deref().unwrap_or(address).trim_end_matches('/');
        let times =
            SessionTimes { seconds_max: config.session_seconds_max, refresh_seconds: config.refresh_seconds };
        let provider = |provider| {
            let provider = Provider::new(provider, address, times, environment, limits)?;
            Ok((provider.name().to_owned(), provider))
        };
        config.providers.iter().map(provider).collect::<Result<_, _>>().map(Self)
    }

    /// Finds a provider.
    pub fn get(&self, name: &str) -> Option<&Provider> {
        self.0.get(name)
    }

    /// Returns the names of the organisations in which a group has the role `role`.
    pub fn with_role(&self, role: Role) -> Vec<&str> {
        let giving = self.0.values().filter(|provider| provider.gives(role));
        giving.map(Provider::organisation).collect()
    }

    /// Returns all names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
