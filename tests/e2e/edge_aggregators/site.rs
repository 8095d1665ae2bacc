//! A site: an edge aggregator in front of coordinators.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use folkmoot_client::HttpSettings;
use folkmoot_edge::HttpLimits;
use folkmoot_edge_aggregator::{EdgeHost, EdgeHostConfig};
use folkmoot_protocol::{OrganisationId, Role};
use folkmoot_round_log::RoundLog;
use folkmoot_storage::SqlStorage;
use folkmoot_tests::{
    cluster::Cluster,
    deployment::{Deployment, reserve_port},
    keys::key,
    patience::patiently,
    raw::Endpoint,
    task::now,
};
use tempfile::TempDir;
use tokio::net::TcpSocket;

/// The origin whose pages may use the aggregator.
pub const ORIGIN: &str = "https://app.example";

/// An edge aggregator that can be stopped and started again with the same folder and port.
pub struct Site {
    /// The aggregator's address for clients.
    pub endpoint: Endpoint,
    config: EdgeHostConfig,
    folder: TempDir,
    host: Option<EdgeHost>,
    _port: TcpSocket,
}

impl Site {
    /// Starts an aggregator in front of a coordinator.
    pub async fn of(deployment: &Deployment) -> Self {
        let certificate = deployment.http_settings().certificate_pem;
        let storage = deployment.storage().await;
        let site = Self::behind(&storage, deployment.task.organisation, deployment.url(), certificate).await;
        storage.close().await;
        site
    }

    /// Starts an aggregator in front of several coordinators.
    pub async fn of_cluster(cluster: &Cluster) -> Self {
        let certificate = cluster.http_settings().certificate_pem;
        let storage = cluster.storage().await;
        let site = Self::behind(&storage, cluster.task.organisation, cluster.url(), certificate).await;
        storage.close().await;
        site
    }

    /// Starts an aggregator behind another one.
    pub async fn behind_site(deployment: &Deployment, site: &Site) -> Self {
        let storage = deployment.storage().await;
        let certificate = site.http_settings().certificate_pem;
        let site = Self::behind(&storage, deployment.task.organisation, site.url(), certificate).await;
        storage.close().await;
        site
    }

    async fn behind(
        storage: &SqlStorage,
        organisation: OrganisationId,
        upstream: String,
        upstream_ca: Option<Vec<u8>>,
    ) -> Self {
        let api_key = key(storage, organisation, Role::Aggregator).await.to_string();
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let (reserved, port) = reserve_port().expect("a port is free");
        let config = EdgeHostConfig {
            data: folder.path().join("data"),
            listen: SocketAddr::from(([127, 0, 0, 1], port)),
            has_tls: true,
            host_names: Vec::new(),
            certificate: None,
            limits: HttpLimits { allowed_origins: vec![ORIGIN.into()], ..HttpLimits::default() },
            upstream,
            api_key,
            upstream_ca,
        };
        let host = start(&config).await;
        let certificate = host.root_certificate.clone().expect("its own authority issued its certificate");
        std::fs::copy(&certificate, folder.path().join("ca.pem")).expect("there is room for a copy");
        let endpoint = Endpoint::new(port, &std::fs::read(certificate).expect("it was just written"));
        Self { endpoint, config, folder, host: Some(host), _port: reserved }
    }

    /// Returns the aggregator's URL.
    pub fn url(&self) -> String {
        format!("https://{}", self.endpoint.address)
    }

    /// Returns the settings with which a real client connects.
    pub fn http_settings(&self) -> HttpSettings {
        let certificate = std::fs::read(self.folder.path().join("ca.pem")).expect("it was copied");
        HttpSettings { certificate_pem: Some(certificate), ..HttpSettings::default() }
    }

    /// Stops the aggregator.
    pub async fn stop(&mut self) {
        self.host.take().expect("it runs").stop().await.expect("it has served");
    }

    /// Starts the aggregator again with the same folder and port.
    pub async fn restart(&mut self) {
        self.host = Some(start(&self.config).await);
    }

    /// Lets the aggregator work for another coordinator when it starts again.
    pub fn move_to(&mut self, deployment: &Deployment) {
        self.config.upstream = deployment.url();
        self.config.upstream_ca = deployment.http_settings().certificate_pem;
    }

    /// Returns the folder of the updates.
    pub fn log_folder(&self) -> PathBuf {
        self.config.data.join("round-log")
    }

    /// Waits until the aggregator has no updates any more.
    pub async fn await_empty(&self) {
        let log = RoundLog::local(self.log_folder()).expect("the folder is there");
        let is_empty = async {
            while !log.rounds().expect("the folder can be read").is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        patiently("the removal of updates that are no longer needed", is_empty).await;
    }
}

async fn start(config: &EdgeHostConfig) -> EdgeHost {
    EdgeHost::start(config.clone(), now())
        .await
        .expect("its folder and port are free, and the coordinator runs")
}
