use std::{io, path::PathBuf};

use super::toml_file::TomlFileError;

/// An invalid configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {path} cannot be read: {source}")]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is not valid TOML, or has unknown keys or wrong types.
    #[error(transparent)]
    File(#[from] TomlFileError),
    /// A setting is out of range or cannot be parsed.
    #[error("{place}: {message}")]
    Value {
        /// The key, or the environment variable.
        place: String,
        /// The fault of the value, and its remedy.
        message: String,
    },
}

impl ConfigError {
    /// Returns the remedy of the error, unless the message contains it.
    pub fn remedy(&self) -> Option<String> {
        match self {
            ConfigError::File(error) => error.remedy.clone(),
            ConfigError::Read { .. } => Some("give an existing file with --config".into()),
            ConfigError::Value { .. } => None,
        }
    }
}
