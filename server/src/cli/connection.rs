//! How administrative commands reach the coordinator.

use std::path::PathBuf;

use super::{AdminClient, CliError};

/// Where the coordinator is, and who asks.
#[derive(Clone, clap::Args)]
pub struct ConnectionArgs {
    /// The coordinator, for example https://127.0.0.1:8443.
    #[arg(long, env = "FOLKMOOT_URL", value_name = "URL")]
    url: String,
    /// The API key, ID.SECRET. The environment keeps it out of the shell's history.
    #[arg(long, env = "FOLKMOOT_API_KEY", value_name = "KEY", hide_env_values = true)]
    api_key: String,
    /// The root certificate that vouches for the coordinator (its ca.pem); without it the system's are asked.
    #[arg(long, env = "FOLKMOOT_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl ConnectionArgs {
    /// Makes a client of the administrative API. Nothing is sent yet.
    ///
    /// # Errors
    /// If the certificate or the address cannot be used.
    pub fn connect(&self) -> Result<AdminClient, CliError> {
        let pem =
            self.ca.as_ref().map(|path| std::fs::read(path).map_err(CliError::read(path))).transpose()?;
        Ok(AdminClient::new(&self.url, &self.api_key, pem)?)
    }
}
