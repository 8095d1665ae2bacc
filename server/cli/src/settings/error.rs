use std::{io, path::PathBuf};

use super::toml_file::TomlFileError;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {path} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file does not say what it should.
    #[error(transparent)]
    File(#[from] TomlFileError),
    /// A setting is out of its range, or is none.
    #[error("{place}: {message}")]
    Value {
        /// The key, or the environment variable.
        place: String,
        /// What is wrong with it, and what would be right.
        message: String,
    },
}

impl ConfigError {
    /// Returns what to do about it, where the message does not say.
    pub fn remedy(&self) -> Option<String> {
        match self {
            ConfigError::File(error) => error.remedy.clone(),
            ConfigError::Read { .. } => Some("name an existing file with --config".into()),
            ConfigError::Value { .. } => None,
        }
    }
}
