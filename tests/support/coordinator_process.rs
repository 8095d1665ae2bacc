//! A coordinator in a separate process.

use std::{net::SocketAddr, path::PathBuf, process::Stdio, time::Duration};

use folkmoot_committee::MemberConfig;
use folkmoot_edge::tls::CertificateFiles;
use folkmoot_service::host::HostConfig;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    time::timeout,
};

use crate::{
    halt::{GO_ON, HALTED, Halt},
    log::Log,
};

/// The time limit for starting or stopping a process, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The configuration of the process, passed as JSON in its only argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoordinatorConfig {
    /// The data folder.
    pub data: PathBuf,
    /// The port on loopback on which the process listens.
    pub port: u16,
    /// The interval between checks of deadlines, in milliseconds.
    pub tick_milliseconds: u64,
    /// The time limit for receiving the head of a request, in milliseconds.
    pub head_milliseconds: u64,
    /// The time limit for receiving a control message, in milliseconds.
    pub control_milliseconds: u64,
    /// The time limit between two pieces of an upload, in milliseconds.
    pub upload_idle_milliseconds: u64,
    /// If true, the clock stands still, and only [`CoordinatorProcess::advance`] moves it.
    pub is_clock_held: bool,
    /// The database's URL; `None` for SQLite in the data folder.
    pub database: Option<String>,
    /// The URL of the object storage; `None` for the data folder.
    pub objects: Option<String>,
    /// The folder of the certificate; `None` for the data folder.
    pub certificate: Option<PathBuf>,
    /// The members of committees for secure aggregation.
    pub committee: Vec<MemberConfig>,
    /// Environment variables of the process.
    pub variables: Vec<(String, String)>,
    /// The time, in seconds, for which the process drains after SIGTERM, until a second one.
    pub drain_seconds: u64,
    /// The point at which the process halts, so that a test can kill it there.
    pub halt: Option<Halt>,
}

impl CoordinatorConfig {
    /// Returns a configuration with a short tick and the default limits.
    pub fn new(data: PathBuf, port: u16) -> Self {
        let limits = HostConfig::loopback(data.clone()).limits;
        let milliseconds = |duration: Duration| duration.as_millis() as u64;
        Self {
            data,
            port,
            tick_milliseconds: 20,
            head_milliseconds: milliseconds(limits.head_timeout),
            control_milliseconds: milliseconds(limits.control_timeout),
            upload_idle_milliseconds: milliseconds(limits.upload_idle_timeout),
            is_clock_held: false,
            database: None,
            objects: None,
            certificate: None,
            committee: Vec::new(),
            variables: Vec::new(),
            drain_seconds: 0,
            halt: None,
        }
    }

    /// Returns the configuration of the coordinator's host.
    pub fn host(&self) -> HostConfig {
        let mut host = HostConfig::loopback(self.data.clone());
        host.listen = SocketAddr::from(([127, 0, 0, 1], self.port));
        host.tick = Duration::from_millis(self.tick_milliseconds);
        host.database = self.database.clone();
        host.objects = self.objects.clone();
        host.certificate = self.certificate.as_deref().map(CertificateFiles::own);
        host.committee = self.committee.clone();
        host.limits.head_timeout = Duration::from_millis(self.head_milliseconds);
        host.limits.control_timeout = Duration::from_millis(self.control_milliseconds);
        host.limits.upload_idle_timeout = Duration::from_millis(self.upload_idle_milliseconds);
        host
    }
}

/// A running process. It is killed when this value is dropped or when the test's process ends.
pub struct CoordinatorProcess {
    child: Child,
    stdin: ChildStdin,
    /// The lines that the process writes to standard output after it is ready.
    said: Log,
}

impl CoordinatorProcess {
    /// Starts the process and waits until it listens.
    ///
    /// # Panics
    /// If the process does not listen in time.
    pub async fn start(program: &str, config: &CoordinatorConfig, log: &Log) -> Self {
        let argument = serde_json::to_string(config).expect("the configuration is plain data");
        let mut child = Command::new(program)
            .arg(argument)
            .envs(config.variables.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the coordinator's program was built with the tests");
        log.follow(child.stderr.take().expect("it is piped"));
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let stdin = child.stdin.take().expect("it is piped");
        let ready = timeout(PATIENCE, stdout.next_line()).await.expect("the coordinator starts in time");
        let is_ready = matches!(ready, Ok(Some(line)) if line == "ready");
        assert!(is_ready, "the coordinator did not start:\n{}", log.since(0).join("\n"));
        let said = Log::default();
        said.follow(stdout.into_inner());
        Self { child, stdin, said }
    }

    /// Advances the clock of a coordinator whose clock is held.
    ///
    /// # Panics
    /// If the process has exited.
    pub async fn advance(&mut self, time: Duration) {
        let line = format!("{}\n", time.as_millis());
        self.stdin.write_all(line.as_bytes()).await.expect("the coordinator reads");
        self.stdin.flush().await.expect("the coordinator reads");
    }

    /// Waits until the process has halted at [`CoordinatorConfig::halt`]. Returns the number of the round.
    pub async fn halted(&self) -> u64 {
        self.said.wait_for(0, |line| line.strip_prefix(HALTED)?.trim().parse().ok()).await
    }

    /// Lets a process continue that has halted at [`CoordinatorConfig::halt`]. If it has not halted yet, it will not
    /// halt.
    ///
    /// # Panics
    /// If the process has exited.
    pub async fn go_on(&mut self) {
        self.stdin.write_all(format!("{GO_ON}\n").as_bytes()).await.expect("the coordinator reads");
        self.stdin.flush().await.expect("the coordinator reads");
    }

    /// Sends a signal, for example SIGTERM.
    ///
    /// # Panics
    /// If the process has exited.
    pub fn signal(&self, signal: Signal) {
        let id = self.child.id().expect("the coordinator runs");
        let id = Pid::from_raw(i32::try_from(id).expect("the system's ids are small"));
        kill(id, signal).expect("it is our child");
    }

    /// Sends SIGKILL and waits until the process has exited.
    ///
    /// # Panics
    /// If the system cannot kill the process.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("a child can be killed");
    }

    /// Shuts the process down gracefully.
    ///
    /// # Panics
    /// If the process fails or does not exit in time.
    pub async fn stop(self) {
        let Self { child, stdin, .. } = self;
        drop(stdin);
        ended(child).await;
    }

    /// Waits until a process that was asked to stop has exited.
    ///
    /// # Panics
    /// If the process fails or does not exit in time.
    pub async fn stopped(self) {
        // Its standard input stays open, so that only the signal stops it.
        let Self { child, stdin: _stdin, .. } = self;
        ended(child).await;
    }
}

async fn ended(mut child: Child) {
    let status = timeout(PATIENCE, child.wait()).await.expect("the coordinator stops in time");
    assert!(status.expect("it is our child").success(), "the coordinator failed at its end");
}
