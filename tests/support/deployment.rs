//! A data folder, a task in it, and the coordinator process that serves it.

use std::{collections::BTreeMap, io, net::Ipv4Addr, path::Path, time::Duration};

use folkmoot_client::HttpSettings;
use folkmoot_storage::{BlobStore, SqlStorage};
use tempfile::TempDir;
use tokio::net::TcpSocket;

use crate::{
    coordinator_process::{CoordinatorConfig, CoordinatorProcess},
    halt::Halt,
    log::Log,
    patience::patiently,
    raw::{Endpoint, RawRequest},
    task::{TaskSpec, TestTask, open_storage},
};

/// A coordinator that can be killed and started again, on one folder and one port.
pub struct Deployment {
    /// The task.
    pub task: TestTask,
    /// What all its processes logged.
    pub log: Log,
    /// The address, as tests that write their own bytes use it.
    pub endpoint: Endpoint,
    folder: TempDir,
    program: String,
    config: CoordinatorConfig,
    process: Option<CoordinatorProcess>,
    /// Keeps the port while no process listens on it.
    _port: TcpSocket,
}

impl Deployment {
    /// Makes a folder with a task and starts `program` on it, configured by `tune`.
    ///
    /// # Panics
    /// If anything of it fails.
    pub async fn start(program: &str, spec: &TaskSpec, tune: impl FnOnce(&mut CoordinatorConfig)) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let task = TestTask::create(folder.path(), spec).await;
        let (reserved, port) = reserve_port().expect("a port is free");
        let mut config = CoordinatorConfig::new(folder.path().to_owned(), port);
        tune(&mut config);
        let log = Log::default();
        let process = CoordinatorProcess::start(program, &config, &log).await;
        let endpoint = Endpoint::new(config.port, &certificate(folder.path()));
        let (program, process) = (program.to_owned(), Some(process));
        Self { task, log, endpoint, folder, program, config, process, _port: reserved }
    }

    /// Returns where it listens.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.config.port)
    }

    /// Returns the data folder.
    pub fn data(&self) -> &Path {
        self.folder.path()
    }

    /// Returns how a real client connects.
    pub fn http_settings(&self) -> HttpSettings {
        HttpSettings { certificate_pem: Some(certificate(self.data())), http1_only: false }
    }

    /// Returns the root certificate's file.
    pub fn certificate_path(&self) -> std::path::PathBuf {
        self.data().join("ca.pem")
    }

    /// Kills the process with SIGKILL.
    pub async fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    /// Starts the process again, on the same folder and port.
    pub async fn restart(&mut self) {
        self.process = Some(CoordinatorProcess::start(&self.program, &self.config, &self.log).await);
    }

    /// Sets the point at which every process stops that is started from now on.
    pub fn halt_at(&mut self, halt: Option<Halt>) {
        self.config.halt = halt;
    }

    /// Waits until the process has stopped at its point, and returns the round's number.
    ///
    /// # Panics
    /// If there is no process.
    pub async fn halted(&self) -> u64 {
        let process = self.process.as_ref().expect("the coordinator runs");
        patiently(&format!("{:?}", self.config.halt), process.halted()).await
    }

    /// Advances the clock of a coordinator whose clock is held.
    ///
    /// # Panics
    /// If there is no process, or its clock is not held.
    pub async fn advance(&mut self, time: Duration) {
        assert!(self.config.is_clock_held, "its clock goes by itself");
        self.process.as_mut().expect("the coordinator runs").advance(time).await;
    }

    /// Lets the process end in good order.
    pub async fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop().await;
        }
    }

    /// Opens the database beside the process.
    pub async fn storage(&self) -> SqlStorage {
        open_storage(self.data()).await
    }

    /// Opens a copy of the database as a killed process left it. Its recovery stays to the next process.
    ///
    /// # Panics
    /// If the files cannot be copied.
    pub async fn dead_storage(&self) -> (SqlStorage, TempDir) {
        assert!(self.process.is_none(), "a database in use cannot be copied");
        let copy = tempfile::tempdir().expect("there is room for a folder");
        for name in ["folkmoot.db", "folkmoot.db-wal"] {
            let source = self.data().join(name);
            if source.exists() {
                std::fs::copy(source, copy.path().join(name)).expect("there is room for a copy");
            }
        }
        (open_storage(copy.path()).await, copy)
    }

    /// Opens the blobs.
    ///
    /// # Panics
    /// If the folder cannot be used.
    pub fn blobs(&self) -> BlobStore {
        BlobStore::local(self.data().join("blobs")).expect("the folder is there")
    }

    /// Asserts that the coordinator still answers, that nothing panicked, and that it counted exactly the
    /// refusals that were sent through [`Deployment::endpoint`].
    ///
    /// # Panics
    /// If one of them is not so.
    pub async fn assert_unharmed(&self) {
        self.assert_answers().await;
        let text = self.endpoint.send(&RawRequest::new("GET", "/metrics")).await.text();
        let counted = text.lines().filter_map(counted_refusals).collect::<BTreeMap<_, _>>();
        assert_eq!(
            counted,
            self.endpoint.refusals(),
            "folkmoot_refusals_total is not what clients were told"
        );
    }

    /// Asserts that the coordinator still answers and that nothing panicked.
    ///
    /// # Panics
    /// If one of them is not so.
    pub async fn assert_answers(&self) {
        for path in ["/healthz", "/readyz"] {
            let answer = self.endpoint.send(&RawRequest::new("GET", path)).await;
            assert_eq!(answer.status, 200, "{path}");
        }
        self.log.assert_no_panic();
    }
}

impl Drop for Deployment {
    /// A test that fails shows what the coordinator had to say about it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let lines = self.log.since(0);
            let notable =
                |line: &&String| ["ERROR", "WARN", "panicked"].iter().any(|word| line.contains(word));
            let notable: Vec<&String> = lines.iter().filter(notable).take(20).collect();
            eprintln!("the coordinator's errors: {notable:#?}");
        }
    }
}

/// Reads `folkmoot_refusals_total{code="…"} n`.
fn counted_refusals(line: &str) -> Option<(String, u64)> {
    let (code, count) = line.strip_prefix("folkmoot_refusals_total{code=\"")?.split_once("\"} ")?;
    Some((code.to_owned(), count.parse().ok()?))
}

fn certificate(data: &Path) -> Vec<u8> {
    std::fs::read(data.join("ca.pem")).expect("a coordinator that listens has made its certificate")
}

/// Reserves a free port for as long as the socket lives: the system chooses it for no other socket and no outgoing
/// connection. A coordinator can still listen on it, because both set `SO_REUSEADDR` and this socket does not listen.
fn reserve_port() -> io::Result<(TcpSocket, u16)> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let port = socket.local_addr()?.port();
    Ok((socket, port))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_reserved_port_can_be_listened_on_again_and_again_and_taken_by_nobody_else() {
        let (_reserved, port) = reserve_port().expect("a port is free");
        let address = (Ipv4Addr::LOCALHOST, port);
        for _ in 0..3 {
            drop(TcpListener::bind(address).expect("it is ours"));
            let other = TcpSocket::new_v4().expect("a socket can be had");
            assert!(other.bind(address.into()).is_err(), "it was taken between two listeners");
        }
    }
}
