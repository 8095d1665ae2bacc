#![doc = include_str!("../README.md")]

mod error;
mod limits;
mod server;
mod setting;
pub mod toml_file;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub use error::ConfigError;
use folkmoot_committee::MemberConfig;
use folkmoot_edge::{HttpLimits, Proxies, cors};
use folkmoot_notification::NotificationConfig;
use folkmoot_objects::{Objects, ObjectsError};
use folkmoot_service::host::HostConfig;
use folkmoot_sign_in::SignInConfig;
use folkmoot_telemetry::LogConfig;
pub use limits::LimitsConfig;
use serde::{Deserialize, Serialize};
pub use server::{DatabaseConfig, ServerConfig, StorageConfig, TlsChoice};
pub use setting::KEYS;

/// The configuration file that is read by default, if it exists.
pub const DEFAULT_FILE: &str = "folkmoot.toml";
/// The interval at which the coordinator checks deadlines when nothing else happens.
const TICK: Duration = Duration::from_millis(250);

/// The whole configuration. Every setting has a default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The server: address, data folder and TLS.
    pub server: ServerConfig,
    /// The database settings.
    pub database: DatabaseConfig,
    /// The object storage.
    pub storage: StorageConfig,
    /// Limits on incoming HTTP connections and requests.
    pub limits: LimitsConfig,
    /// The log settings.
    pub log: LogConfig,
    /// Sign-in with identity providers.
    pub sign_in: SignInConfig,
    /// The members of committees for secure aggregation.
    pub committee: CommitteeConfig,
    /// Notices to people.
    pub notifications: NotificationConfig,
    /// The audit log.
    pub audit: AuditConfig,
}

/// The retention of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// The number of days after which entries are removed, from 30 to 36,500. Without it, all entries are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_days: Option<u32>,
}

impl AuditConfig {
    fn check(&self) -> Result<(), ConfigError> {
        match self.keep_days {
            Some(days) if !(30..=36_500).contains(&days) => Err(ConfigError::Value {
                place: "audit.keep_days".into(),
                message: format!("it is {days}; it must be 30 to 36500. Remove the key to keep all entries"),
            }),
            _ => Ok(()),
        }
    }
}

/// The members of committees that this coordinator can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommitteeConfig {
    /// The members.
    pub members: Vec<MemberConfig>,
}

impl Config {
    /// Reads the file `path`, or [`DEFAULT_FILE`] if it exists, and applies the environment variables.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, line and key, or the environment variable.
    pub fn load(
        path: Option<&Path>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut config = match file(path) {
            Some(path) => Self::read(&path)?,
            None => Self::default(),
        };
        for key in KEYS {
            let variable = variable_of(key);
            if let Some(text) = environment(&variable) {
                let failed = |message| ConfigError::Value { place: variable.clone(), message };
                config.set(key, &text).map_err(failed)?;
            }
        }
        config.check()?;
        Ok(config)
    }

    /// Reads a file.
    fn read(path: &Path) -> Result<Self, ConfigError> {
        let failed = |source| ConfigError::Read { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Ok(toml_file::parse(path, &text)?)
    }

    /// Validates the values beyond their types.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for the first setting that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.server.check()?;
        self.limits.check()?;
        self.audit.check()?;
        self.storage.check()?;
        self.sign_in.check().map_err(|error| ConfigError::Value {
            place: format!("sign_in.{}", error.key),
            message: error.message,
        })?;
        self.notifications.check().map_err(|error| ConfigError::Value {
            place: format!("notifications.{}", error.key),
            message: error.message,
        })?;
        if let Some(url) = &self.storage.objects {
            let invalid = |error: ObjectsError| ConfigError::Value {
                place: "storage.objects".into(),
                message: error.to_string(),
            };
            Objects::check(url).map_err(invalid)?;
        }
        for member in &self.committee.members {
            member.check().map_err(|error| ConfigError::Value {
                place: "committee.members".into(),
                message: error.to_string(),
            })?;
        }
        self.server.certificate_files()?;
        self.server.client_authority()?;
        cors::check_origins(&self.server.allowed_origins)
            .map_err(|message| ConfigError::Value { place: "server.allowed_origins".into(), message })?;
        Proxies::parse(&self.server.trusted_proxies)
            .map_err(|message| ConfigError::Value { place: "server.trusted_proxies".into(), message })?;
        let invalid = |message| ConfigError::Value { place: "log.level".into(), message };
        self.log.check().map_err(invalid)
    }

    /// Returns the configuration of the host. The configuration must have been validated with [`Config::check`].
    pub fn host_config(&self) -> HostConfig {
        HostConfig {
            data: self.server.data.clone(),
            database: self.database.url.clone(),
            objects: self.storage.objects.clone(),
            listen: self.server.listen,
            has_tls: self.server.tls == TlsChoice::Own,
            host_names: self.server.host_names.clone(),
            // The caller has validated it.
            certificate: self.server.certificate_files().unwrap_or_default(),
            client_authority: self.server.client_authority().expect("it was checked when it was read"),
            limits: HttpLimits {
                allowed_origins: self.server.allowed_origins.clone(),
                trusted_proxies: Arc::new(
                    Proxies::parse(&self.server.trusted_proxies).expect("it was checked when it was read"),
                ),
                ..self.limits.http_limits()
            },
            tick: TICK,
            first_run: None,
            notifications: self.notifications.clone(),
            sign_in: self.sign_in.clone(),
            committee: self.committee.members.clone(),
            audit_keep_days: self.audit.keep_days,
            keep_versions: self.storage.keep_versions,
        }
    }

    /// Returns a copy to print, without the password in the database URL and without the paths of webhooks.
    pub fn without_secrets(&self) -> Self {
        let database = DatabaseConfig { url: self.database.url.as_deref().map(server::without_password) };
        let notifications = self.notifications.without_secrets();
        Self { database, notifications, ..self.clone() }
    }
}

/// Returns the file that is read: the given one, or the default one if it exists.
pub fn file(path: Option<&Path>) -> Option<PathBuf> {
    let default = Path::new(DEFAULT_FILE);
    path.or_else(|| default.exists().then_some(default)).map(Path::to_owned)
}

/// Returns the environment variable of a key: `FOLKMOOT_SERVER_LISTEN` for `server.listen`.
pub fn variable_of(key: &str) -> String {
    format!("FOLKMOOT_{}", key.replace('.', "_").to_uppercase())
}

#[cfg(test)]
mod tests;
