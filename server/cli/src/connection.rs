//! The connection flags of administrative commands.

use std::path::PathBuf;

use folkmoot_api::AdminClient;
use folkmoot_protocol::TaskId;

use super::{CliError, output::OutputArgs};

/// The flags that every administrative command needs.
#[derive(Clone, clap::Args)]
pub struct ConnectionArgs {
    /// The URL of the coordinator, for example https://127.0.0.1:8443.
    #[arg(long, env = "FOLKMOOT_URL", value_name = "URL")]
    url: String,
    /// The API key, as ID.SECRET. Use the environment variable to keep it out of the shell history.
    #[arg(long, env = "FOLKMOOT_API_KEY", value_name = "KEY", hide_env_values = true)]
    api_key: String,
    /// The root certificate to trust (the coordinator's ca.pem). By default, the system's root certificates are
    /// trusted.
    #[arg(long, env = "FOLKMOOT_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl ConnectionArgs {
    /// Returns the coordinator's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Creates a client of the administrative API. Does not send a request yet.
    ///
    /// # Errors
    /// If the certificate or the URL is invalid.
    pub fn connect(&self) -> Result<AdminClient, CliError> {
        let pem =
            self.ca.as_ref().map(|path| std::fs::read(path).map_err(CliError::read(path))).transpose()?;
        Ok(AdminClient::new(&self.url, &self.api_key, pem)?)
    }
}

/// The flags of a command that reads from a coordinator and needs only the connection and the output format.
#[derive(clap::Args)]
pub struct CoordinatorArgs {
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The arguments of a command that shows or changes one task.
#[derive(clap::Args)]
pub struct TaskArgs {
    /// The id of the task, as listed by `folkmoot task list`.
    pub task: TaskId,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The flags of [`ConnectionArgs`] for a command that does not always need a coordinator.
#[derive(Clone, clap::Args)]
pub struct OptionalConnectionArgs {
    /// The URL of the coordinator, for example https://127.0.0.1:8443.
    #[arg(long, env = "FOLKMOOT_URL", value_name = "URL")]
    url: Option<String>,
    /// The API key, as ID.SECRET. Use the environment variable to keep it out of the shell history.
    #[arg(long, env = "FOLKMOOT_API_KEY", value_name = "KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// The root certificate to trust (the coordinator's ca.pem). By default, the system's root certificates are
    /// trusted.
    #[arg(long, env = "FOLKMOOT_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl OptionalConnectionArgs {
    /// Creates a client of the administrative API. Does not send a request yet.
    ///
    /// # Errors
    /// If the URL or the key is missing, or if the URL or the certificate is invalid.
    pub fn connect(&self) -> Result<AdminClient, CliError> {
        let missing = |what: &str| {
            CliError::with_remedy(
                format!("{what} is missing"),
                format!("give {what}, or set its environment variable"),
            )
        };
        let url = self.url.clone().ok_or_else(|| missing("--url"))?;
        let api_key = self.api_key.clone().ok_or_else(|| missing("--api-key"))?;
        ConnectionArgs { url, api_key, ca: self.ca.clone() }.connect()
    }
}
