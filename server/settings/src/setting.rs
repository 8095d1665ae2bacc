use std::{fmt::Display, str::FromStr};

use clap::ValueEnum;
use serde::de::DeserializeOwned;

use super::Config;

/// Every key, as `section.key`. A test keeps the list complete.
pub const KEYS: [&str; 35] = [
    "server.listen",
    "server.data",
    "server.tls",
    "server.certificate",
    "server.key",
    "server.client_authority",
    "server.client_revocations",
    "server.host_names",
    "server.allowed_origins",
    "server.trusted_proxies",
    "server.drain_seconds",
    "database.url",
    "storage.objects",
    "storage.keep_versions",
    "limits.connections_max",
    "limits.connections_per_address_max",
    "limits.head_seconds_max",
    "limits.idle_seconds_max",
    "limits.untaken_seconds_max",
    "limits.control_seconds_max",
    "limits.upload_idle_seconds_max",
    "limits.long_poll_seconds_max",
    "limits.model_bytes_max",
    "log.format",
    "log.level",
    "sign_in.url",
    "sign_in.session_seconds_max",
    "sign_in.refresh_seconds",
    "sign_in.providers",
    "committee.members",
    "notifications.url",
    "notifications.stalled_hours",
    "notifications.webhooks",
    "notifications.emails",
    "audit.keep_days",
];

impl Config {
    /// Sets one of [`KEYS`] from text. Lists are separated by commas, and lists of tables are JSON.
    ///
    /// # Errors
    /// If the text is invalid, or the key is unknown.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "server.listen" => put(&mut self.server.listen, text),
            "server.data" => put(&mut self.server.data, text),
            "server.tls" => put(&mut self.server.tls, text),
            "server.certificate" => put_some(&mut self.server.certificate, text),
            "server.key" => put_some(&mut self.server.key, text),
            "server.client_authority" => put_some(&mut self.server.client_authority, text),
            "server.client_revocations" => put_some(&mut self.server.client_revocations, text),
            "server.host_names" => {
                self.server.host_names = list(text);
                Ok(())
            }
            "server.allowed_origins" => {
                self.server.allowed_origins = list(text);
                Ok(())
            }
            "server.trusted_proxies" => {
                self.server.trusted_proxies = list(text);
                Ok(())
            }
            "server.drain_seconds" => put(&mut self.server.drain_seconds, text),
            "database.url" => put_some(&mut self.database.url, text),
            "storage.objects" => put_some(&mut self.storage.objects, text),
            "storage.keep_versions" => put(self.storage.keep_versions.get_or_insert_default(), text),
            "limits.connections_max" => put(&mut self.limits.connections_max, text),
            "limits.connections_per_address_max" => put(&mut self.limits.connections_per_address_max, text),
            "limits.head_seconds_max" => put(&mut self.limits.head_seconds_max, text),
            "limits.idle_seconds_max" => put(&mut self.limits.idle_seconds_max, text),
            "limits.untaken_seconds_max" => put(&mut self.limits.untaken_seconds_max, text),
            "limits.control_seconds_max" => put(&mut self.limits.control_seconds_max, text),
            "limits.upload_idle_seconds_max" => put(&mut self.limits.upload_idle_seconds_max, text),
            "limits.long_poll_seconds_max" => put(&mut self.limits.long_poll_seconds_max, text),
            "limits.model_bytes_max" => put(&mut self.limits.model_bytes_max, text),
            "log.format" => put(&mut self.log.format, text),
            "log.level" => put(&mut self.log.level, text),
            "sign_in.url" => put_some(&mut self.sign_in.url, text),
            "sign_in.session_seconds_max" => put(&mut self.sign_in.session_seconds_max, text),
            "sign_in.refresh_seconds" => put(&mut self.sign_in.refresh_seconds, text),
            "sign_in.providers" => {
                self.sign_in.providers = tables(text)?;
                Ok(())
            }
            "committee.members" => {
                self.committee.members = tables(text)?;
                Ok(())
            }
            "notifications.url" => put_some(&mut self.notifications.url, text),
            "notifications.stalled_hours" => put(&mut self.notifications.stalled_hours, text),
            "notifications.webhooks" => {
                self.notifications.webhooks = tables(text)?;
                Ok(())
            }
            "notifications.emails" => {
                self.notifications.emails = tables(text)?;
                Ok(())
            }
            "audit.keep_days" => put(self.audit.keep_days.get_or_insert_default(), text),
            _ => Err(format!("there is no key `{key}`")),
        }
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Parses a list of tables as JSON, because one line of TOML could not hold them. An empty text is an empty list.
fn tables<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(|error| format!("it is not a JSON list of tables: {error}"))
}

fn put_some<'a, T: From<&'a str>>(slot: &mut Option<T>, text: &'a str) -> Result<(), String> {
    *slot = Some(text.into());
    Ok(())
}

fn put<T: FromStr<Err: Display>>(slot: &mut T, text: &str) -> Result<(), String> {
    *slot = text.parse().map_err(|error| format!("`{text}` is invalid: {error}"))?;
    Ok(())
}

/// Parses one of several names.
pub(super) fn choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    let words = || {
        let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        values.map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join(" or ")
    };
    T::from_str(text, false).map_err(|_| format!("it must be {}", words()))
}
