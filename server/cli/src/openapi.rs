use folkmoot_service::http::openapi;

use super::{CliError, output};

/// Prints the OpenAPI document of the API.
///
/// # Errors
/// If stdout cannot be written.
pub fn run() -> Result<(), CliError> {
    output::line(&openapi::document())
}
