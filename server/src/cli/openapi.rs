use super::{CliError, output};
use crate::http::openapi;

/// Prints the description of the API.
///
/// # Errors
/// If stdout cannot be written.
pub fn run() -> Result<(), CliError> {
    output::line(&openapi::document())
}
