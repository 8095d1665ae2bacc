//! A running coordinator, for stages that compare or train with it.

use crate::process::{Server, output, spelled};
use crate::workspace::{Failure, read};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A coordinator on a free port of this machine. It ends when this value is dropped.
pub struct Coordinator {
    program: PathBuf,
    /// The address of the coordinator.
    pub url: String,
    /// The key of the first administrator.
    pub key: String,
    /// The certificate of the authority that signed the coordinator's; only if it uses TLS.
    pub certificate: PathBuf,
    _server: Server,
}

impl Coordinator {
    /// Starts a coordinator with its data in a folder.
    ///
    /// # Errors
    /// Fails if the program does not serve within a minute.
    pub fn start(program: &Path, data: &Path, arguments: &[&str]) -> Result<Self, Failure> {
        let mut serve = Command::new(program);
        serve.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).arg("--data").arg(data);
        let line_of_url = |line: &str| line.strip_prefix("serving ").map(|url| url.trim().to_owned());
        let (server, url) = Server::start(serve.env("FOLKMOOT_LOG_LEVEL", "error"), line_of_url)?;
        let key = read(&data.join("first-api-key"))?.trim().to_owned();
        let certificate = data.join("ca.pem");
        Ok(Self { program: program.to_owned(), url, key, certificate, _server: server })
    }

    /// Runs a command of an administrator, and returns its answer.
    ///
    /// # Errors
    /// Fails if the command fails, or if its answer is not JSON.
    pub fn ask(&self, arguments: &[&str]) -> Result<Value, Failure> {
        let mut ask = Command::new(&self.program);
        ask.args(arguments)
            .args(["--json"])
            .env("FOLKMOOT_URL", &self.url)
            .env("FOLKMOOT_API_KEY", &self.key);
        if self.url.starts_with("https:") {
            ask.env("FOLKMOOT_CA", &self.certificate);
        }
        let answer = output(&mut ask)?;
        serde_json::from_str(&answer).map_err(|error| Failure(format!("`{}`: {error}", spelled(&ask))))
    }
}
