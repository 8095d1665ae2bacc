use std::path::PathBuf;

use folkmoot_client::{Client, ClientBuilder};

use crate::CliError;

/// The flags of one client on this machine: its coordinator, how both know each other, and its folder.
#[derive(clap::Args)]
pub struct InstallArgs {
    /// The URL of the coordinator, for example https://coordinator.example:8443.
    #[arg(long, env = "FOLKMOOT_URL", value_name = "URL")]
    coordinator: String,
    /// The root certificate to trust (the coordinator's ca.pem). By default, the system's root certificates are
    /// trusted.
    #[arg(long, env = "FOLKMOOT_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The client's own certificate with its intermediates, as PEM, for a coordinator that requires one.
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_certificate: Option<PathBuf>,
    /// The private key of the client's own certificate, as PEM.
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    client_key: Option<PathBuf>,
    /// Connect only to a coordinator with this key: the SHA-256 of its public key in base64, as `folkmoot doctor` prints it.
    /// Can be repeated: each pin may match.
    #[arg(long = "pin", value_name = "PIN")]
    pins: Vec<String>,
    /// The enrolment token. It is needed only for the first start.
    #[arg(long, env = "FOLKMOOT_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The folder for the client's key, session and downloads.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Accept only tasks, and models of tasks, that an endorsement with this Ed25519 public key covers. Can be repeated: each key may endorse.
    #[arg(long = "endorsement-key", value_name = "KEY")]
    endorsement_keys: Vec<String>,
}

impl InstallArgs {
    /// Begins a client with these flags.
    ///
    /// # Errors
    /// Fails if a certificate or key cannot be read.
    pub fn builder(self) -> Result<ClientBuilder, CliError> {
        let mut builder = Client::builder(self.coordinator)
            .state_directory(self.state)
            .endorsement_keys(self.endorsement_keys)
            .pins(self.pins);
        let read = |path: PathBuf| std::fs::read(&path).map_err(CliError::read(&path));
        if let Some(path) = self.ca {
            builder = builder.certificate(read(path)?);
        }
        if let (Some(certificate), Some(key)) = (self.client_certificate, self.client_key) {
            builder = builder.client_certificate(read(certificate)?, read(key)?);
        }
        if let Some(token) = self.token {
            builder = builder.enrolment_token(token);
        }
        Ok(builder)
    }
}
