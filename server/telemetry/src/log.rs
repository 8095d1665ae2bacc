use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

/// The level and format of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// The format: `text` for people, `json` for machines.
    pub format: LogFormat,
    /// The level: `error`, `warn`, `info`, `debug` or `trace`, or a filter such as `info,folkmoot_rounds=debug`.
    pub level: String,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: "info".into() }
    }
}

impl LogConfig {
    /// Checks the level.
    ///
    /// # Errors
    /// The reason why the level is not valid.
    pub fn check(&self) -> Result<(), String> {
        match EnvFilter::try_new(&self.level) {
            Ok(_) if !self.level.trim().is_empty() => Ok(()),
            _ => Err(format!(
                "`{}` is not a log level; it must be error, warn, info, debug or trace, or a filter such as \
                 `info,folkmoot_rounds=debug`",
                self.level
            )),
        }
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("it must be text or json".into()),
        }
    }
}
