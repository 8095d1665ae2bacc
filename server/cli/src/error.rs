use std::{fmt, io, path::Path};

use folkmoot_api::{AdminError, client::with_causes};
use folkmoot_committee::MemberHostError;
use folkmoot_demo::DemoError;
use folkmoot_edge::ServeError;
use folkmoot_edge_aggregator::EdgeHostError;
use folkmoot_load::LoadError;
use folkmoot_service::host::HostError;
use folkmoot_settings::{ConfigError, toml_file::TomlFileError};
use folkmoot_telemetry::TelemetryError;
use folkmoot_terminal::SignalError;

/// An error of a command, with its remedy.
#[derive(Debug)]
pub struct CliError {
    /// The failure and its cause, with the file, position or value.
    pub message: String,
    /// The remedy, unless the message contains it.
    pub remedy: Option<String>,
}

impl CliError {
    /// Creates an error without a remedy.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: None }
    }

    /// Creates an error with a remedy.
    pub fn with_remedy(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: Some(remedy.into()) }
    }

    /// Creates the error for a file that cannot be read.
    pub fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::new(format!("{} cannot be read: {error}", path.display()))
    }

    /// Creates the error for a file that cannot be written.
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
    EdgeHostError,
    MemberHostError,
    ServeError,
    TelemetryError,
    SignalError,
    DemoError,
    LoadError,
    folkmoot_client::ClientError,
    folkmoot_client::ModelFileError,
    folkmoot_inference::InferenceError
);
