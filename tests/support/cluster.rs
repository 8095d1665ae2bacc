//! Several coordinator processes over PostgreSQL and S3, behind a load balancer.

use std::path::PathBuf;

use folkmoot_client::HttpSettings;
use folkmoot_edge::tls;
use folkmoot_storage::{BlobStore, Objects, SqlStorage, test_support::TestPostgres};
use tempfile::TempDir;
use tokio::net::TcpSocket;

use crate::{
    balancer::Balancer,
    coordinator_process::{CoordinatorConfig, CoordinatorProcess},
    deployment::{certificate, reserve_port},
    log::Log,
    raw::Endpoint,
    task::{TaskSpec, TestTask, now},
    test_s3::TestS3,
};

/// The processes, and the servers that they share.
pub struct Cluster {
    /// The task.
    pub task: TestTask,
    /// The log lines of all processes.
    pub log: Log,
    /// The load balancer's address.
    pub endpoint: Endpoint,
    /// The object storage.
    pub s3: TestS3,
    members: Vec<Member>,
    program: String,
    database: String,
    folder: TempDir,
    _postgres: TestPostgres,
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
            let endpoint = Endpoint::new(port, &pem);
            members.push(Member { config, endpoint, process: None, _port: reserved });
        }
        let ports = members.iter().map(|member| member.config.port).collect();
        let endpoint = Endpoint::new(Balancer::open(ports, seed).await.port, &pem);
        let (log, program) = (Log::default(), program.to_owned());
        let mut cluster =
            Self { task, log, endpoint, s3, members, program, database, folder, _postgres: postgres };
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
        HttpSettings { certificate_pem: Some(certificate(self.folder.path())), http1_only: false }
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

    /// Opens the object storage.
    pub fn objects(&self) -> Objects {
        objects_of(&self.s3)
    }

    /// Opens the blob store.
    pub fn blobs(&self) -> BlobStore {
        self.objects().blobs()
    }
}

async fn open(database: &str) -> SqlStorage {
    SqlStorage::connect(database, Default::default()).await.expect("the database can be opened")
}

fn objects_of(s3: &TestS3) -> Objects {
    Objects::open(&s3.url(), s3.variables()).expect("the URL is right")
}
