use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

use super::{ConfigError, setting::choice};

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// `text` for humans, `json` for machines.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` or `trace`, or a filter such as `info,folkmoot_rounds=debug`.
    pub level: String,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: "info".into() }
    }
}

impl LogConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match EnvFilter::try_new(&self.level) {
            Ok(_) if !self.level.trim().is_empty() => Ok(()),
            _ => Err(ConfigError::Value {
                place: "log.level".into(),
                message: format!(
                    "`{}` is no level; it must be error, warn, info, debug or trace, or a filter such as \
                     `info,folkmoot_rounds=debug`",
                    self.level
                ),
            }),
        }
    }
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For humans.
    Text,
    /// One JSON object a line.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        choice(text)
    }
}
