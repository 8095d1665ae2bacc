//! A data folder with a task, and the coordinator process that serves it.

use std::{collections::BTreeMap, io, net::Ipv4Addr, path::Path, time::Duration};

use folkmoot_client::HttpSettings;
use folkmoot_objects::BlobStore;
use folkmoot_storage::SqlStorage;
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

/// A coordinator that can be killed and restarted with the same data folder and port.
pub struct Deployment {
    /// The task.
    pub task: TestTask,
    /// The log lines of all the coordinator's processes.
    pub log: Log,
    /// The coordinator's address, for tests that write raw requests.
    pub endpoint: Endpoint,
    folder: TempDir,
    program: String,
    config: CoordinatorConfig,
    process: Option<CoordinatorProcess>,
    /// Reserves the port while no process listens on it.
    _port: TcpSocket,
}

impl Deployment {
    /// Creates a folder with a task and starts `program` with it. `tune` may change the configuration.
    ///
    /// # Panics
    /// If any of these steps fails.
    pub async fn start(program: &str, spec: &TaskSpec, tune: impl FnOnce(&mut CoordinatorConfig)) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let task = TestTask::create(folder.path(), spec).await;
        Self::resume(program, task, folder, tune).await
    }

    /// Starts `program` with a folder that has a task, for example a restored one. `tune` may change the configuration.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn resume(
        program: &str,
        task: TestTask,
        folder: TempDir,
        tune: impl FnOnce(&mut CoordinatorConfig),
    ) -> Self {
        let (reserved, port) = reserve_port().expect("a port is free");
        let mut config = CoordinatorConfig::new(folder.path().to_owned(), port);
        tune(&mut config);
        let log = Log::default();
        let process = CoordinatorProcess::start(program, &config, &log).await;
        let endpoint =
            Endpoint::new(config.port, &certificate(config.certificate.as_deref().unwrap_or(folder.path())));
        let (program, process) = (program.to_owned(), Some(process));
        Self { task, log, endpoint, folder, program, config, process, _port: reserved }
    }

    /// Returns the coordinator's URL.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.config.port)
    }

    /// Returns the data folder.
    pub fn data(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the settings with which a real client connects.
    pub fn http_settings(&self) -> HttpSettings {
        HttpSettings { certificate_pem: Some(certificate(self.data())), ..HttpSettings::default() }
    }

    /// Returns the path of the root certificate.
    pub fn certificate_path(&self) -> std::path::PathBuf {
        self.data().join("ca.pem")
    }

    /// Kills the process with SIGKILL.
    pub async fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    /// Restarts the process with the same folder and port.
    pub async fn restart(&mut self) {
        self.process = Some(CoordinatorProcess::start(&self.program, &self.config, &self.log).await);
    }

    /// Sets the point at which processes that are started from now on will halt.
    pub fn halt_at(&mut self, halt: Option<Halt>) {
        self.config.halt = halt;
    }

    /// Waits until the process has halted at its point. Returns the number of the round.
    ///
    /// # Panics
    /// If no process runs.
    pub async fn halted(&self) -> u64 {
        let process = self.process.as_ref().expect("the coordinator runs");
        patiently(&format!("{:?}", self.config.halt), process.halted()).await
    }

    /// Advances the clock of a coordinator whose clock is held.
    ///
    /// # Panics
    /// If no process runs, or its clock is not held.
    pub async fn advance(&mut self, time: Duration) {
        assert!(self.config.is_clock_held, "its clock goes by itself");
        self.process.as_mut().expect("the coordinator runs").advance(time).await;
    }

    /// Shuts the process down gracefully.
    pub async fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop().await;
        }
    }

    /// Opens the database while the process may be using it.
    pub async fn storage(&self) -> SqlStorage {
        open_storage(self.data()).await
    }

    /// Opens a copy of the database in the state in which a killed process left it. The original does not change, so
    /// that the next process does the recovery.
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

    /// Opens the blob store.
    ///
    /// # Panics
    /// If the folder cannot be used.
    pub fn blobs(&self) -> BlobStore {
        BlobStore::local(self.data().join("blobs")).expect("the folder is there")
    }

    /// Asserts that the coordinator still answers and has not panicked. Also asserts that its metrics have exactly the
    /// refusals that were received through [`Deployment::endpoint`].
    ///
    /// # Panics
    /// If one of the assertions fails.
    pub async fn assert_unharmed(&self) {
        self.assert_answers().await;
        let text = self.endpoint.send(&RawRequest::new("GET", "/metrics")).await.text();
        let counted = text.lines().filter_map(counted_refusals).collect::<BTreeMap<_, _>>();
        assert_eq!(
            counted,
            self.endpoint.refusals(),
            "folkmoot_refusals_total differs from the refusals that clients received"
        );
    }

    /// Asserts that the coordinator still answers and has not panicked.
    ///
    /// # Panics
    /// If one of the assertions fails.
    pub async fn assert_answers(&self) {
        for path in ["/healthz", "/readyz"] {
            let answer = self.endpoint.send(&RawRequest::new("GET", path)).await;
            assert_eq!(answer.status, 200, "{path}");
        }
        self.log.assert_no_panic();
    }
}

impl Drop for Deployment {
    /// Prints the coordinator's errors if the test fails.
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

/// Parses a line `folkmoot_refusals_total{code="…"} n` into the code and the count.
fn counted_refusals(line: &str) -> Option<(String, u64)> {
    let (code, count) = line.strip_prefix("folkmoot_refusals_total{code=\"")?.split_once("\"} ")?;
    Some((code.to_owned(), count.parse().ok()?))
}

/// Reads the root certificate of a data folder.
pub(crate) fn certificate(data: &Path) -> Vec<u8> {
    std::fs::read(data.join("ca.pem")).expect("a coordinator that listens has made its certificate")
}

/// Reserves a free port while the returned socket exists. The system does not choose the port for another socket or an
/// outgoing connection. A coordinator can still listen on it, because both sockets set `SO_REUSEADDR` and this one does
/// not listen.
///
/// # Errors
/// If the system has no free port.
pub fn reserve_port() -> io::Result<(TcpSocket, u16)> {
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
