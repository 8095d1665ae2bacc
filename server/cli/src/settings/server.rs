use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use clap::ValueEnum;
use folkmoot_service::http::tls::CertificateFiles;
use serde::{Deserialize, Serialize};

use super::{ConfigError, setting::choice};

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
    /// `own` if the coordinator has the certificate, `off` behind a proxy that has one.
    pub tls: TlsChoice,
    /// The file of the operator's own certificate, with those that vouch for it, as PEM. Without it the coordinator makes one
    /// of its own authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// The file of its private key, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
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
            certificate: None,
            key: None,
            host_names: Vec::new(),
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
        }
    }
}

impl ServerConfig {
    /// Returns the files of the operator's own certificate, if they are named.
    ///
    /// # Errors
    /// If only one of them is, or a proxy has the certificate.
    pub(super) fn certificate_files(&self) -> Result<Option<CertificateFiles>, ConfigError> {
        let refuse = |place: &str, message: &str| {
            Err(ConfigError::Value { place: place.into(), message: message.into() })
        };
        match (&self.certificate, &self.key) {
            (None, None) => Ok(None),
            (Some(_), None) => {
                refuse("server.key", "it is missing; server.certificate needs its private key")
            }
            (None, Some(_)) => {
                refuse("server.certificate", "it is missing; server.key belongs to a certificate")
            }
            (Some(_), Some(_)) if self.tls == TlsChoice::Off => refuse(
                "server.certificate",
                "server.tls is off, so it would not be served; set server.tls to own, or leave it out",
            ),
            (Some(chain), Some(key)) => Ok(Some(CertificateFiles { chain: chain.clone(), key: key.clone() })),
        }
    }
}

/// Who has the certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TlsChoice {
    /// The coordinator: the operator's (`certificate` and `key`), or one of an authority of its own, whose root is `ca.pem` in
    /// the data folder.
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
