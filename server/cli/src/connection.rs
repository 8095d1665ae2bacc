//! How administrative commands reach the coordinator.

use std::path::PathBuf;

use folkmoot_api::AdminClient;

use super::CliError;

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

/// The same, for a command that may do without a coordinator.
#[derive(Clone, clap::Args)]
pub struct OptionalConnectionArgs {
    /// The coordinator, for example https://127.0.0.1:8443.
    #[arg(long, env = "FOLKMOOT_URL", value_name = "URL")]
    url: Option<String>,
    /// The API key, ID.SECRET. The environment keeps it out of the shell's history.
    #[arg(long, env = "FOLKMOOT_API_KEY", value_name = "KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// The root certificate that vouches for the coordinator (its ca.pem); without it the system's are asked.
    #[arg(long, env = "FOLKMOOT_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl OptionalConnectionArgs {
    /// Makes a client of the administrative API. Nothing is sent yet.
    ///
    /// # Errors
    /// If the address or the key is not given, or one of them or the certificate cannot be used.
    pub fn connect(&self) -> Result<AdminClient, CliError> {
        let missing = |what: &str| {
            CliError::with_remedy(format!("{what} is missing"), format!("give {what}, or set its variable"))
        };
        let url = self.url.clone().ok_or_else(|| missing("--url"))?;
        let api_key = self.api_key.clone().ok_or_else(|| missing("--api-key"))?;
        ConnectionArgs { url, api_key, ca: self.ca.clone() }.connect()
    }
}
