//! The real client in a process of its own.

use std::{path::PathBuf, process::Stdio};

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::process::{Child, ChildStdin, Command};

use crate::{halt::HALTED, log::Log};

/// What the process is told, as its one argument in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientConfig {
    /// The coordinator's address.
    pub url: String,
    /// The file of its root certificate.
    pub certificate: PathBuf,
    /// The enrolment token.
    pub token: String,
    /// Where the client keeps its state.
    pub state_directory: PathBuf,
    /// A CSV file, of which this client holds one part of so many.
    pub examples: PathBuf,
    /// Which part, from 0.
    pub part: usize,
    /// Of how many.
    pub parts: usize,
    /// The moment at which the client's clock is right.
    pub clock_anchor: Timestamp,
    /// How many times as fast it runs.
    pub clock_rate: u64,
    /// The moment at which the process stops, so that a test can kill it there.
    pub halt_at: Option<ClientMoment>,
}

/// A moment in the work of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientMoment {
    /// The training begins.
    TrainingBegins,
    /// It goes on, and a checkpoint of it is stored.
    TrainingGoesOn,
    /// It is over, and its update is not made yet.
    Trained,
    /// The update is stored, and its upload has begun.
    Uploading,
    /// The update counts.
    Accepted,
}

/// A client that can be killed and started again on its state directory.
pub struct ClientProcess {
    /// One line for every event of all its processes.
    pub events: Log,
    /// What all its processes logged.
    pub log: Log,
    /// How it runs.
    pub config: ClientConfig,
    program: String,
    running: Option<(Child, ChildStdin)>,
}

impl ClientProcess {
    /// Starts a client.
    pub fn start(program: &str, config: ClientConfig) -> Self {
        let (events, log) = (Log::default(), Log::default());
        let mut client = Self { events, log, config, program: program.to_owned(), running: None };
        client.restart();
        client
    }

    /// Waits until the process has stopped at [`ClientConfig::halt_at`], from a line of the events on.
    pub async fn halted(&self, line: usize) {
        self.events.wait_for(line, |line| (line == HALTED).then_some(())).await;
    }

    /// Kills the process with SIGKILL.
    ///
    /// # Panics
    /// If the system does not do it.
    pub async fn kill(&mut self) {
        if let Some((mut child, _stdin)) = self.running.take() {
            child.kill().await.expect("a child can be killed");
        }
    }

    /// Starts the process again.
    ///
    /// # Panics
    /// If there is no such program.
    pub fn restart(&mut self) {
        let argument = serde_json::to_string(&self.config).expect("the configuration is plain data");
        let mut child = Command::new(&self.program)
            .arg(argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the client's program was built with the tests");
        self.events.follow(child.stdout.take().expect("it is piped"));
        self.log.follow(child.stderr.take().expect("it is piped"));
        let stdin = child.stdin.take().expect("it is piped");
        self.running = Some((child, stdin));
    }
}
