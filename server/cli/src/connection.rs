//! The connection flags of administrative commands.

use std::path::PathBuf;

use folkmoot_api::AdminClient;
use folkmoot_rounds::clock::system_clock;

use super::{CliError, output::OutputArgs, sessions, task_called::TaskCalled};

/// The address of a coordinator.
#[derive(Clone, clap::Args)]
pub struct AddressArgs {
    /// The URL of the coordinator, for example https://127.0.0.1:8443.
    #[arg(long, env = "FOLKMOOT_URL", value_name = "URL")]
    pub url: String,
    /// The root certificate to trust (the coordinator's ca.pem). By default, the system's root certificates are
    /// trusted.
    #[arg(long, env = "FOLKMOOT_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl AddressArgs {
    /// Creates a client with an API key or a session; an empty one is not sent. Does not send a request yet.
    ///
    /// # Errors
    /// If the certificate or the URL is invalid.
    pub fn connect(&self, credential: &str) -> Result<AdminClient, CliError> {
        let pem =
            self.ca.as_ref().map(|path| std::fs::read(path).map_err(CliError::read(path))).transpose()?;
        Ok(AdminClient::new(&self.url, credential, pem)?)
    }
}

/// The flags that every administrative command needs.
#[derive(Clone, clap::Args)]
pub struct ConnectionArgs {
    #[command(flatten)]
    address: AddressArgs,
    /// The API key, as ID.SECRET. By default, the session of `folkmoot login` is used. Use the environment variable to
    /// keep the key out of the shell history.
    #[arg(long, env = "FOLKMOOT_API_KEY", value_name = "KEY", hide_env_values = true)]
    api_key: Option<String>,
}

impl ConnectionArgs {
    /// Returns the coordinator's address.
    pub fn url(&self) -> &str {
        &self.address.url
    }

    /// Creates a client of the administrative API, with the key or the stored session. Does not send a request yet.
    ///
    /// # Errors
    /// If there is neither a key nor a session, the session has expired, or the certificate or the URL is invalid.
    pub fn connect(&self) -> Result<AdminClient, CliError> {
        match self.api_key.as_deref().filter(|key| !key.trim().is_empty()) {
            Some(key) => self.address.connect(key),
            None => self.address.connect(&sessions::usable(self.url(), system_clock()())?),
        }
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
    /// The task: its name, its id or the beginning of its id. `folkmoot task list` shows both.
    pub task: TaskCalled,
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
    /// The API key, as ID.SECRET. By default, the session of `folkmoot login` is used. Use the environment variable to
    /// keep the key out of the shell history.
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
    /// If the URL is missing, or for the reasons of [`ConnectionArgs::connect`].
    pub fn connect(&self) -> Result<AdminClient, CliError> {
        let missing = || CliError::with_remedy("--url is missing", "give --url, or set FOLKMOOT_URL");
        let address = AddressArgs { url: self.url.clone().ok_or_else(missing)?, ca: self.ca.clone() };
        ConnectionArgs { address, api_key: self.api_key.clone() }.connect()
    }
}
