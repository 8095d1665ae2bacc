use std::{fmt, io, path::Path};

use folkmoot_api::{AdminError, client::with_causes};
use folkmoot_service::{host::HostError, http::ServeError, telemetry::TelemetryError};

use crate::settings::{ConfigError, toml_file::TomlFileError};

/// Why a command failed: one line for humans, and what to do about it.
#[derive(Debug)]
pub struct CliError {
    /// What is wrong, and where.
    pub message: String,
    /// What to do, where the message does not say.
    pub remedy: Option<String>,
}

impl CliError {
    /// Makes an error that says what to do by itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: None }
    }

    /// Makes an error with a remedy.
    pub fn with_remedy(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: Some(remedy.into()) }
    }

    /// Says that a file cannot be read.
    pub fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::new(format!("{} cannot be read: {error}", path.display()))
    }

    /// Says that a file cannot be written.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::new(format!("{} cannot be written: {error}", path.display()))
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\nremedy: {remedy}"),
            None => Ok(()),
        }
    }
}

impl From<AdminError> for CliError {
    fn from(error: AdminError) -> Self {
        Self { remedy: error.remedy(), message: error.to_string() }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self { remedy: error.remedy(), message: error.to_string() }
    }
}

impl From<TomlFileError> for CliError {
    fn from(error: TomlFileError) -> Self {
        Self { message: error.to_string(), remedy: error.remedy }
    }
}

macro_rules! from_errors {
    ($($error:ty),*) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                Self::new(with_causes(&error))
            }
        })*
    };
}

from_errors!(
    HostError,
    ServeError,
    TelemetryError,
    folkmoot_client::ClientError,
    folkmoot_inference::InferenceError
);
