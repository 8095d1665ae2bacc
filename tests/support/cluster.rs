//! Several coordinator processes over PostgreSQL and S3, behind a load balancer.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use folkmoot_client::HttpSettings;
use folkmoot_edge::tls;
use folkmoot_objects::{BlobStore, Objects};
use folkmoot_processes::ProcessTable;
use folkmoot_storage::SqlStorage;
use folkmoot_test_postgres::TestPostgres;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;
use tokio::net::TcpSocket;

use crate::{
    balancer::Balancer,
    coordinator_process::{CoordinatorConfig, CoordinatorProcess},
    deployment::{certificate, reserve_port},
    log::Log,
    patience::patiently,
    raw::{Answer, Endpoint, RawRequest},
    task::{TaskSpec, TestTask, now},
    test_s3::TestS3,
};

/// The time, in seconds, for which a process drains if no second signal comes. Longer than a test, so that no test
/// depends on it.
const DRAIN_SECONDS: u64 = 3_600;

/// The processes, and the servers that they share.
pub struct Cluster {
    /// The task.
    pub task: TestTask,
    /// The log lines of all processes.
    pub log: Log,
    /// The load balancer's address.
    pub endpoint: Endpoint,
    /// The load balancer.
    pub balancer: Balancer,
    /// The object storage.
    pub s3: TestS3,
    members: Vec<Member>,
    program: String,
    database: String,
    folder: TempDir,
    postgres: TestPostgres,
}

struct Member {
    config: CoordinatorConfig,
    endpoint: Endpoint,
    process: Option<CoordinatorProcess>,
    _port: TcpSocket,
}

impl Cluster {
    /// Creates a task and starts `count` coordinators. Returns `None` if PostgreSQL is not installed.
    ///
    /// # Panics
    /// If any of these steps fails.
    pub async fn start(program: &str, spec: &TaskSpec, count: usize, seed: u64) -> Option<Self> {
        Self::start_with(program, spec, count, seed, |_| {}).await
    }

    /// Does the same with changed configurations.
    ///
    /// # Panics
    /// If any of these steps fails.
    pub async fn start_with(
        program: &str,
        spec: &TaskSpec,
        count: usize,
        seed: u64,
        change: impl Fn(&mut CoordinatorConfig),
    ) -> Option<Self> {
        let postgres = TestPostgres::start()?;
        let s3 = TestS3::start().await;
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let database = postgres.database();
        tls::ensure_authority(folder.path(), &[], now()).expect("a certificate can be made");
        let pem = certificate(folder.path());
        let blobs = objects_of(&s3).blobs();
        let storage = open(&database).await;
        let task = TestTask::store(&storage, &blobs, spec).await;
        storage.close().await;

        let mut members = Vec::new();
        for number in 0..count {
            let (reserved, port) = reserve_port().expect("a port is free");
            let mut config = CoordinatorConfig::new(folder.path().join(number.to_string()), port);
            config.database = Some(database.clone());
            config.objects = Some(s3.url());
            config.certificate = Some(folder.path().to_owned());
            config.variables = s3.variables();
            config.drain_seconds = DRAIN_SECONDS;
            change(&mut config);
            let endpoint = Endpoint::new(port, &pem);
            members.push(Member { config, endpoint, process: None, _port: reserved });
        }
        let ports = members.iter().map(|member| member.config.port).collect();
        let balancer = Balancer::open(ports, seed).await;
        let endpoint = Endpoint::new(balancer.port, &pem);
        let (log, program) = (Log::default(), program.to_owned());
        let mut cluster =
            Self { task, log, endpoint, balancer, s3, members, program, database, folder, postgres };
        for number in 0..count {
            cluster.restart(number).await;
        }
        Some(cluster)
    }

    /// Returns the URL of the load balancer.
    pub fn url(&self) -> String {
        format!("https://{}", self.endpoint.address)
    }

    /// Returns the settings with which a real client connects.
    pub fn http_settings(&self) -> HttpSettings {
        HttpSettings { certificate_pem: Some(certificate(self.folder.path())), ..HttpSettings::default() }
    }

    /// Returns the address of one process.
    pub fn member(&self, number: usize) -> &Endpoint {
        &self.members[number].endpoint
    }

    /// Kills process `number` with SIGKILL, if it runs.
    pub async fn kill(&mut self, number: usize) {
        if let Some(process) = self.members[number].process.take() {
            process.kill().await;
        }
    }

    /// Shuts process `number` down gracefully, if it runs.
    pub async fn stop_one(&mut self, number: usize) {
        if let Some(process) = self.members[number].process.take() {
            process.stop().await;
        }
    }

    /// Sends a signal to process `number`.
    ///
    /// # Panics
    /// If the process does not run.
    pub fn signal(&self, number: usize, signal: Signal) {
        self.members[number].process.as_ref().expect("the process runs").signal(signal);
    }

    /// Waits until one of the processes `numbers` has halted, and returns its number.
    ///
    /// # Panics
    /// If one of them does not run.
    pub async fn halted(&self, numbers: &[usize]) -> usize {
        let halted = numbers.iter().map(|&number| {
            let process = self.members[number].process.as_ref().expect("the process runs");
            Box::pin(async move {
                process.halted().await;
                number
            })
        });
        patiently("a process that halts", futures::future::select_all(halted)).await.0
    }

    /// Lets process `number` continue after it has halted, or never halt.
    ///
    /// # Panics
    /// If the process does not run.
    pub async fn go_on(&mut self, number: usize) {
        self.members[number].process.as_mut().expect("the process runs").go_on().await;
    }

    /// Stops the database with this signal: SIGINT shuts it down, and SIGQUIT crashes it. Returns when it has begun to
    /// start again.
    ///
    /// # Panics
    /// If the database does not run.
    pub async fn restart_database(&self, signal: Signal) {
        let folder = self.postgres.data_folder();
        let old = server_of(&folder).expect("the database runs");
        kill(Pid::from_raw(old), signal).expect("the database runs");
        let is_new = |server: Option<i32>| server.is_some_and(|new| new != old);
        patiently("a new database server", await_server(&folder, is_new)).await;
    }

    /// Stops the database, and prevents it from starting again.
    pub async fn stop_database(&self) {
        let folder = self.postgres.data_folder();
        std::fs::rename(folder.join("postgresql.conf"), folder.join("kept.conf"))
            .expect("the folder is ours");
        let server = server_of(&folder).expect("the database runs");
        kill(Pid::from_raw(server), Signal::SIGINT).expect("the database runs");
        let is_gone = |server: Option<i32>| server.is_none();
        patiently("the end of the database server", await_server(&folder, is_gone)).await;
    }

    /// Lets the database start again.
    ///
    /// # Panics
    /// If it was not stopped.
    pub fn start_database(&self) {
        let folder = self.postgres.data_folder();
        std::fs::rename(folder.join("kept.conf"), folder.join("postgresql.conf")).expect("it was stopped");
    }

    /// Drains process `number` by SIGTERM. Returns when its `/readyz` says so and the load balancer has taken it out.
    pub async fn drain(&self, number: usize) -> Answer {
        self.signal(number, Signal::SIGTERM);
        let answer = patiently("a process that drains", self.unready(number)).await;
        self.balancer.take_out(number, true);
        answer
    }

    async fn unready(&self, number: usize) -> Answer {
        loop {
            let answer = self.member(number).send(&RawRequest::new("GET", "/readyz")).await;
            if answer.status != 200 {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Ends the drain of process `number` by a second SIGTERM, and replaces the process by a new one.
    ///
    /// # Panics
    /// If the process does not run, or does not exit cleanly.
    pub async fn replace_drained(&mut self, number: usize) {
        self.signal(number, Signal::SIGTERM);
        self.members[number].process.take().expect("the process runs").stopped().await;
        self.restart(number).await;
        self.balancer.take_out(number, false);
    }

    /// Starts process `number`.
    pub async fn restart(&mut self, number: usize) {
        let config = &self.members[number].config;
        let process = CoordinatorProcess::start(&self.program, config, &self.log).await;
        self.members[number].process = Some(process);
    }

    /// Deletes the data folder of process `number`, as if its machine were lost.
    ///
    /// # Panics
    /// If the process runs, or the folder cannot be deleted.
    pub fn lose_disk(&mut self, number: usize) {
        let member = &self.members[number];
        assert!(member.process.is_none(), "a process that runs has its disk");
        std::fs::remove_dir_all(&member.config.data).expect("the folder can be deleted");
    }

    /// Shuts all processes down gracefully.
    pub async fn stop(&mut self) {
        for member in &mut self.members {
            if let Some(process) = member.process.take() {
                process.stop().await;
            }
        }
    }

    /// Returns the data folder of process `number`.
    pub fn data(&self, number: usize) -> PathBuf {
        self.members[number].config.data.clone()
    }

    /// Returns the database's URL.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Opens the database.
    pub async fn storage(&self) -> SqlStorage {
        open(&self.database).await
    }

    /// Waits until `count` processes share out the populations among them.
    pub async fn living(&self, count: usize) {
        let storage = self.storage().await;
        let table = ProcessTable::of(&storage).expect("the database is PostgreSQL");
        while table.living().await.map_or(0, |living| living.len()) != count {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        storage.close().await;
    }

    /// Opens the object storage.
    pub fn objects(&self) -> Objects {
        objects_of(&self.s3)
    }

    /// Opens the blob store.
    pub fn blobs(&self) -> BlobStore {
        self.objects().blobs()
    }
}

/// Waits until the server in this folder is in the awaited state. The folder's file is the only sign of a server's
/// state.
async fn await_server(folder: &Path, is_awaited: impl Fn(Option<i32>) -> bool) {
    while !is_awaited(server_of(folder)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the id of the database server in this folder, if it runs.
fn server_of(folder: &Path) -> Option<i32> {
    std::fs::read_to_string(folder.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
}

async fn open(database: &str) -> SqlStorage {
    SqlStorage::connect(database, Default::default()).await.expect("the database can be opened")
}

fn objects_of(s3: &TestS3) -> Objects {
    Objects::open(&s3.url(), s3.variables()).expect("the URL is right")
}
