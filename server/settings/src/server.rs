use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use clap::ValueEnum;
use folkmoot_edge::tls::{CertificateFiles, ClientAuthority};
use serde::{Deserialize, Serialize};

use super::{ConfigError, limits::within, setting::choice};

/// The default port of a coordinator.
const PORT: u16 = 8443;
/// The maximum of `server.drain_seconds`.
const DRAIN_SECONDS_MAX: u64 = 3_600;

/// The maximum of `storage.keep_versions`.
const KEEP_VERSIONS_MAX: u64 = 1_000_000;

/// The server settings: address, data folder and TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The address to listen on. The default can be reached from this machine only.
    pub listen: SocketAddr,
    /// The data folder: database, blobs, round log, certificates.
    pub data: PathBuf,
    /// `own` if the coordinator serves TLS, `off` if a proxy in front of the coordinator serves TLS.
    pub tls: TlsChoice,
    /// The file of the operator's certificate with its chain, as PEM. Without it, the coordinator creates a
    /// certificate from its own certificate authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// The file of the private key of this certificate, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// The file of the authority's certificates, as PEM, that must have issued the certificates of clients. With it, the
    /// coordinator refuses devices that connect without a certificate. People and the administrative API need none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_authority: Option<PathBuf>,
    /// The file of the certificate revocation lists (CRLs) of this authority, as PEM. Without it, no client certificate
    /// counts as revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_revocations: Option<PathBuf>,
    /// The host names and addresses by which clients reach the coordinator, besides localhost and 127.0.0.1. They are in
    /// its own certificate. The coordinator rejects requests that are signed for another name, unless the name is in
    /// your certificate. If `tls` is `off` and the list is empty, it accepts every name.
    pub host_names: Vec<String>,
    /// The origins whose pages may run clients (CORS), for example `https://app.example`; `*` allows all. If the list
    /// is empty, browsers block pages of other origins.
    pub allowed_origins: Vec<String>,
    /// The trusted proxies in front of the coordinator, as networks or addresses, for example `10.0.0.0/8`. For their
    /// requests, limits by address use the client address in `x-forwarded-for`.
    pub trusted_proxies: Vec<String>,
    /// The time, in seconds, for which a coordinator that was asked to stop still serves while `/readyz` answers 503, so
    /// that load balancers send new requests elsewhere first. Set it for several coordinators, longer than the load
    /// balancer needs to notice. With 0, the coordinator stops at once.
    pub drain_seconds: u64,
}

impl StorageConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self.keep_versions {
            Some(versions) if !(1..=KEEP_VERSIONS_MAX).contains(&versions) => Err(ConfigError::Value {
                place: "storage.keep_versions".into(),
                message: format!(
                    "it is {versions}; it must be 1 to {KEEP_VERSIONS_MAX}. Remove the key to keep all versions"
                ),
            }),
            _ => Ok(()),
        }
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], PORT)),
            data: PathBuf::from("folkmoot-data"),
            tls: TlsChoice::Own,
            certificate: None,
            key: None,
            client_authority: None,
            client_revocations: None,
            host_names: Vec::new(),
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            drain_seconds: 0,
        }
    }
}

impl ServerConfig {
    /// Validates the numbers.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        within("server.drain_seconds", self.drain_seconds, 0, DRAIN_SECONDS_MAX)
    }

    /// Returns the files of the operator's certificate, if they are set.
    ///
    /// # Errors
    /// If only one of the two files is set, or if both are set although `tls` is `off`.
    pub(super) fn certificate_files(&self) -> Result<Option<CertificateFiles>, ConfigError> {
        match (&self.certificate, &self.key) {
            (None, None) => Ok(None),
            (Some(_), None) => {
                refuse("server.key", "it is not set; server.certificate needs the file of its private key")
            }
            (None, Some(_)) => {
                refuse("server.certificate", "it is not set; server.key needs the file of its certificate")
            }
            (Some(_), Some(_)) if self.tls == TlsChoice::Off => refuse(
                "server.certificate",
                "server.tls is off, so the certificate would not be used; set server.tls to own, or remove server.certificate",
            ),
            (Some(chain), Some(key)) => Ok(Some(CertificateFiles { chain: chain.clone(), key: key.clone() })),
        }
    }

    /// Returns the files of the authority of client certificates, if clients need a certificate.
    ///
    /// # Errors
    /// If `client_revocations` is set without `client_authority`, or if one of them is set although `tls` is `off`.
    pub(super) fn client_authority(&self) -> Result<Option<ClientAuthority>, ConfigError> {
        match (&self.client_authority, &self.client_revocations) {
            (None, None) => Ok(None),
            (None, Some(_)) => refuse(
                "server.client_authority",
                "it is not set; server.client_revocations needs the file of the authority's certificates",
            ),
            (Some(_), _) if self.tls == TlsChoice::Off => refuse(
                "server.client_authority",
                "server.tls is off, so the coordinator does not see the certificates of clients; set server.tls to own, and let \
                 the proxy pass TLS through, or remove server.client_authority",
            ),
            (Some(certificates), revocations) => Ok(Some(ClientAuthority {
                certificates: certificates.clone(),
                revocations: revocations.clone(),
            })),
        }
    }
}

fn refuse<T>(place: &str, message: &str) -> Result<T, ConfigError> {
    Err(ConfigError::Value { place: place.into(), message: message.into() })
}

/// The place where TLS connections end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TlsChoice {
    /// The coordinator serves TLS, with the certificate of the operator (`certificate` and `key`) or with its own,
    /// whose root is `ca.pem` in the data folder.
    Own,
    /// A proxy in front of the coordinator serves TLS.
    Off,
}

impl FromStr for TlsChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        choice(text)
    }
}

/// The database settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseConfig {
    /// The URL, `postgres://…` or `sqlite://…`. The default is SQLite in the data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The settings of the object storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StorageConfig {
    /// The object storage for models, weights and updates: `s3://bucket/prefix`, `gs://bucket/prefix` or
    /// `az://container/prefix`. Several coordinators that share a database need it. Its credentials are environment
    /// variables of the provider, such as `AWS_ACCESS_KEY_ID`. The default is the data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<String>,
    /// The number of a task's newest model versions whose weights are kept, from 1 to 1,000,000. The best version and those in
    /// use are kept, too. Without it, the weights of all versions are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_versions: Option<u64>,
}

/// Returns a URL without its password: `postgres://user:***@host/name`. PostgreSQL also takes a password as a parameter.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:***@{host}"),
            None => authority.to_owned(),
        },
        None => authority.to_owned(),
    };
    let Some((path, parameters)) = path.split_once('?') else {
        return format!("{scheme}://{authority}{path}");
    };
    let hidden = parameters.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) if name.eq_ignore_ascii_case("password") => format!("{name}=***"),
        _ => parameter.to_owned(),
    });
    format!("{scheme}://{authority}{path}?{}", hidden.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(without_password("postgres://ada:s:e@db/x?a=b"), "postgres://ada:***@db/x?a=b");
        assert_eq!(without_password("postgres://ada@db/x"), "postgres://ada@db/x");
        assert_eq!(without_password("sqlite:///tmp/a.db"), "sqlite:///tmp/a.db");
        assert_eq!(without_password("sqlite::memory:"), "sqlite::memory:");
        let parameter = "postgres:///x?user=ada&password=s=e&host=/run";
        assert_eq!(without_password(parameter), "postgres:///x?user=ada&password=***&host=/run");
        assert_eq!(without_password("postgres://ada:s@db?a=b"), "postgres://ada:***@db?a=b");
    }
}
