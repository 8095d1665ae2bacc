use std::{collections::BTreeMap, path::PathBuf};

use folkmoot_protocol::Role;
use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::SignInConfigError;

/// The longest session that can be configured, in seconds: a week.
const SESSION_SECONDS_LIMIT: u64 = 7 * 24 * 3600;
/// The largest number of providers.
const PROVIDERS_MAX: usize = 100;
/// The longest name of a provider, in characters.
const NAME_CHARACTERS_MAX: usize = 40;

/// Sign-in with identity providers. By default there is none, and only API keys give access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SignInConfig {
    /// The coordinator's address as browsers see it, for example `https://coordinator.example`. Providers send
    /// people back to it. The default is the address that the coordinator listens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The longest duration of a person's session, in seconds. Without a refresh token from the provider, a session also
    /// ends when its ID token expires.
    pub session_seconds_max: u64,
    /// The interval at which the provider is asked again for a person's groups, in seconds. It needs a refresh token from
    /// the provider.
    pub refresh_seconds: u64,
    /// The identity providers.
    pub providers: Vec<ProviderConfig>,
}

impl Default for SignInConfig {
    fn default() -> Self {
        Self { url: None, session_seconds_max: 12 * 3600, refresh_seconds: 900, providers: Vec::new() }
    }
}

/// An identity provider of one organisation, and the roles that its groups give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// The name, in lower-case letters, digits and hyphens. It is part of addresses and of the audit log.
    pub name: String,
    /// The name of the organisation that people of this provider belong to.
    #[serde(default = "default_organisation")]
    pub organisation: String,
    /// The issuer's URL. Its discovery document is below `/.well-known/openid-configuration`.
    pub issuer: String,
    /// The id that the provider gave to this coordinator.
    pub client_id: String,
    /// A file that contains the client secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_file: Option<PathBuf>,
    /// An environment variable that contains the client secret. Without a file and a variable, the coordinator is a
    /// public client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_variable: Option<String>,
    /// The scopes to request besides `openid`.
    #[serde(default = "default_scopes")]
    pub scopes: Vec<String>,
    /// The claim of the ID token that lists the person's groups.
    #[serde(default = "default_groups_claim")]
    pub groups_claim: String,
    /// A file with the only root certificates to trust for this provider, as PEM. The default is the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// The role of each group: `viewer`, `operator`, `privacy_officer` or `admin`, from low to high. The highest role of
    /// a person's groups counts.
    pub roles: BTreeMap<String, Role>,
}

fn default_organisation() -> String {
    "default".into()
}

fn default_scopes() -> Vec<String> {
    vec!["profile".into()]
}

fn default_groups_claim() -> String {
    "groups".into()
}

impl SignInConfig {
    /// Validates the values. Reads no file and sends no request.
    ///
    /// # Errors
    /// [`SignInConfigError`] names the first setting that is wrong.
    pub fn check(&self) -> Result<(), SignInConfigError> {
        if let Some(url) = &self.url {
            let is_plain = |url: &Url| url.path() == "/" && url.query().is_none() && url.fragment().is_none();
            if !safe_url(url).is_some_and(|url| is_plain(&url)) {
                let message = format!(
                    "`{url}` is not the address of a coordinator; give https://HOST[:PORT] without a path"
                );
                return Err(SignInConfigError::at("url", message));
            }
        }
        for (key, seconds) in
            [("session_seconds_max", self.session_seconds_max), ("refresh_seconds", self.refresh_seconds)]
        {
            if !(1..=SESSION_SECONDS_LIMIT).contains(&seconds) {
                let message = format!("it is {seconds}; it must be 1 to {SESSION_SECONDS_LIMIT}");
                return Err(SignInConfigError::at(key, message));
            }
        }
        if self.providers.len() > PROVIDERS_MAX {
            let message =
                format!("there are {} providers; there may be {PROVIDERS_MAX}", self.providers.len());
            return Err(SignInConfigError::at("providers", message));
        }
        for (index, provider) in self.providers.iter().enumerate() {
            provider.check()?;
            if self.providers[..index].iter().any(|other| other.name == provider.name) {
                return Err(provider.error("name", "another provider has this name; choose a different one"));
            }
        }
        Ok(())
    }
}

impl ProviderConfig {
    fn check(&self) -> Result<(), SignInConfigError> {
        let is_letter =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if self.name.is_empty() || self.name.len() > NAME_CHARACTERS_MAX || !self.name.chars().all(is_letter)
        {
            let message = format!(
                "it must have 1 to {NAME_CHARACTERS_MAX} characters: lower-case letters, digits and hyphens"
            );
            return Err(self.error("name", message));
        }
        let Some(issuer) = safe_url(&self.issuer) else {
            let message =
                format!("`{}` must be an https:// URL; http:// is allowed only on this machine", self.issuer);
            return Err(self.error("issuer", message));
        };
        if issuer.query().is_some() || issuer.fragment().is_some() || !issuer.username().is_empty() {
            return Err(self.error("issuer", "an issuer has no query, fragment or user name; remove it"));
        }
        if self.client_id.is_empty() {
            return Err(self.error("client_id", "it is empty; give the id that the provider shows"));
        }
        if self.client_secret_file.is_some() && self.client_secret_variable.is_some() {
            let message = "client_secret_file is set too; remove one of the two";
            return Err(self.error("client_secret_variable", message));
        }
        if self.roles.is_empty() {
            return Err(self.error("roles", "no group has a role, so nobody could sign in; add a group"));
        }
        let is_of_keys = |role: &Role| matches!(role, Role::System | Role::Aggregator);
        if let Some((group, role)) = self.roles.iter().find(|(_, role)| is_of_keys(role)) {
            let message = format!(
                "the group `{group}` has the role {}, which only keys have; choose viewer, operator, privacy_officer or \
                 admin",
                role.name()
            );
            return Err(self.error("roles", message));
        }
        Ok(())
    }

    /// Returns the error of one setting of this provider.
    pub(crate) fn error(&self, key: &str, message: impl Into<String>) -> SignInConfigError {
        SignInConfigError::at(&format!("providers.{}.{key}", self.name), message)
    }
}

/// Parses an `https://` URL, or an `http://` URL of this machine.
pub(crate) fn safe_url(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| url.has_host() && is_safe(url))
}

/// Returns whether requests to `url` are encrypted or stay on this machine.
pub(crate) fn is_safe(url: &Url) -> bool {
    let is_here = || {
        url.host_str().is_some_and(|host| {
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_here())
}
