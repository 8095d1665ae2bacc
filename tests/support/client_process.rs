//! The real client in a separate process.

use std::{path::PathBuf, process::Stdio};

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::process::{Child, ChildStdin, Command};

use crate::{halt::HALTED, log::Log};

/// The configuration of the process, passed as JSON in its only argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientConfig {
    /// The coordinator's address.
    pub url: String,
    /// The file with the coordinator's root certificate.
    pub certificate: PathBuf,
    /// The enrolment token.
    pub token: String,
    /// The client's state directory.
    pub state_directory: PathBuf,
    /// A CSV file with the examples of all clients. This client trains on one part of the file.
    pub examples: PathBuf,
    /// The index of this client's part, from 0.
    pub part: usize,
    /// The number of parts into which the file is divided.
    pub parts: usize,
    /// The time at which the client's clock equals the real time.
    pub clock_anchor: Timestamp,
    /// The speed of the client's clock, as a multiple of real time.
    pub clock_rate: u64,
    /// The moment at which the process halts, so that a test can kill it there.
    pub halt_at: Option<ClientMoment>,
}

/// A moment in the work of a client at which it can halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientMoment {
    /// The training has begun.
    TrainingBegins,
    /// The training is running, and a checkpoint is stored.
    TrainingGoesOn,
    /// The training is complete, but its update is not encoded yet.
    Trained,
    /// The update is stored, and its upload has begun.
    Uploading,
    /// The coordinator has accepted the update.
    Accepted,
}

/// A client that can be killed and restarted with the same state directory.
pub struct ClientProcess {
    /// The events of all the client's processes, one on each line.
    pub events: Log,
    /// The log lines of all the client's processes.
    pub log: Log,
    /// The configuration of the next process.
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

    /// Waits until the process has halted at [`ClientConfig::halt_at`]. Only events from `line` on are searched.
    pub async fn halted(&self, line: usize) {
        self.events.wait_for(line, |line| (line == HALTED).then_some(())).await;
    }

    /// Kills the process with SIGKILL.
    ///
    /// # Panics
    /// If the system cannot kill the process.
    pub async fn kill(&mut self) {
        if let Some((mut child, _stdin)) = self.running.take() {
            child.kill().await.expect("a child can be killed");
        }
    }

    /// Starts the process again.
    ///
    /// # Panics
    /// If the program cannot be started.
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
