use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::setting::choice;

/// The port on which a coordinator listens, unless it is told another.
const PORT: u16 = 8443;

/// Where and how the coordinator serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The address to listen on. The default is reached from this machine only.
    pub listen: SocketAddr,
    /// The data folder: database, blobs, round log, certificates.
    pub data: PathBuf,
    /// `own` for a certificate of its own authority, `off` behind a proxy that has one.
    pub tls: TlsChoice,
    /// The names and addresses in the own certificate, besides localhost and 127.0.0.1.
    pub host_names: Vec<String>,
    /// The origins whose pages may be clients, such as `https://app.example`; `*` for all. Without any, pages of other
    /// origins are kept out by their browsers.
    pub allowed_origins: Vec<String>,
    /// The proxies in front, as networks or addresses, such as `10.0.0.0/8`: limits by address go by what they write into
    /// `x-forwarded-for`.
    pub trusted_proxies: Vec<String>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], PORT)),
            data: PathBuf::from("folkmoot-data"),
            tls: TlsChoice::Own,
            host_names: Vec::new(),
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
        }
    }
}

/// Who has the certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TlsChoice {
    /// The coordinator, of an authority of its own, whose root is `ca.pem` in the data folder.
    Own,
    /// A proxy in front of it.
    Off,
}

impl FromStr for TlsChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        choice(text)
    }
}

/// Where the records are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseConfig {
    /// `postgres://…` or `sqlite://…`; without it, SQLite in the data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Returns a URL that can be shown: `postgres://user:***@host/name`.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{scheme}://{name}:***@{host}{path}"),
            None => url.to_owned(),
        },
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(without_password("postgres://ada:s:e@db/x?a=b"), "postgres://ada:***@db/x?a=b");
        assert_eq!(without_password("postgres://ada@db/x"), "postgres://ada@db/x");
        assert_eq!(without_password("sqlite:///tmp/a.db"), "sqlite:///tmp/a.db");
    }
}
