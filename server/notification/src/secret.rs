use std::{fmt, path::Path};

use crate::NotificationConfigError;

/// A text that is never printed.
#[derive(Clone)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the one place that needs it.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Reads a secret from a file or an environment variable; `None` if neither is given. `key` is the name of the setting
/// without `_file` and `_variable`.
///
/// # Errors
/// If both are given, the file cannot be read, the variable is not set, or the secret is empty.
pub fn read(
    key: &str,
    file: Option<&Path>,
    variable: Option<&str>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Secret>, NotificationConfigError> {
    let (key, text) = match (file, variable) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            let message = format!("give {key}_file or {key}_variable, and not both");
            return Err(NotificationConfigError::at(format!("{key}_file"), message));
        }
        (Some(path), None) => {
            let key = format!("{key}_file");
            match std::fs::read_to_string(path) {
                Ok(text) => (key, text),
                Err(error) => {
                    let message = format!("{} cannot be read: {error}", path.display());
                    return Err(NotificationConfigError::at(key, message));
                }
            }
        }
        (None, Some(name)) => {
            let key = format!("{key}_variable");
            let unset = format!("the environment variable {name} is not set; set it to the secret");
            (key.clone(), environment(name).ok_or(NotificationConfigError::at(key, unset))?)
        }
    };
    match text.trim() {
        "" => Err(NotificationConfigError::at(key, "the secret is empty")),
        text => Ok(Some(Secret::new(text))),
    }
}
