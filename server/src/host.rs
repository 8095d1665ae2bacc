//! A running coordinator: opens the data folder, binds the socket, starts the drivers, and ends in good order.

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use folkmoot_protocol::{OrganisationId, Timestamp};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, BlobStore, BlobStoreError, PopulationRepository, Role, RoundLog,
    RoundLogError, SqlStorage, StorageError,
};
use futures::future::BoxFuture;
use metrics_exporter_prometheus::PrometheusHandle;
use rand::Rng;
use rand_chacha::ChaCha20Rng;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    clock::Clock,
    coordinator::{Coordinator, ForgetError},
    credential::Credential,
    device::Authenticator,
    drivers::{self, DriverConfig, DriverHealth},
    http::{self, App, HttpLimits, Listener, ServeError, admin::demo::FirstRun, edge::Edge, tls},
};

/// The organisation of a coordinator that has only one.
pub const DEFAULT_ORGANISATION: &str = "default";

/// What a coordinator needs to run.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The data folder: database, blobs, round log, certificates.
    pub data: PathBuf,
    /// The database's URL; `None` is SQLite in the data folder.
    pub database: Option<String>,
    /// The address to listen on; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The names and addresses in the own certificate, besides localhost and 127.0.0.1; `None` serves without TLS, behind a proxy that has it.
    pub tls_host_names: Option<Vec<String>>,
    /// What the edge lets in.
    pub limits: HttpLimits,
    /// How often deadlines are looked at when nothing happens.
    pub tick: Duration,
    /// What can be seen where nothing is yet.
    pub first_run: Option<MakeFirstRun>,
}

/// Where a coordinator runs, for who is to be its client on the same machine.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its address.
    pub url: String,
    /// The root certificate's file, when it serves with its own TLS.
    pub root_certificate: Option<PathBuf>,
    /// The data folder.
    pub data: PathBuf,
}

/// Makes a first run for a coordinator, once it is known where that runs.
#[derive(Clone, Copy)]
pub struct MakeFirstRun(pub fn(&Place) -> Arc<dyn FirstRun>);

impl fmt::Debug for MakeFirstRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeFirstRun")
    }
}

impl HostConfig {
    /// Returns the configuration of a coordinator on this machine only: TLS on loopback, any free port.
    pub fn loopback(data: PathBuf) -> Self {
        Self {
            data,
            database: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls_host_names: Some(Vec::new()),
            limits: HttpLimits::default(),
            tick: Duration::from_millis(250),
            first_run: None,
        }
    }
}

/// Why a coordinator cannot start.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The data folder cannot be used.
    #[error("the data folder {path} cannot be used: {source}")]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The blobs cannot be used.
    #[error(transparent)]
    Blobs(#[from] BlobStoreError),
    /// Old logs cannot be removed.
    #[error(transparent)]
    Forget(#[from] ForgetError),
    /// The round log cannot be used.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
    /// The socket cannot be used.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// A running coordinator.
pub struct Host {
    /// Where it listens.
    pub address: SocketAddr,
    /// The coordinator.
    pub coordinator: Arc<Coordinator>,
    /// The organisation that the first key belongs to.
    pub organisation: OrganisationId,
    /// The root certificate's file, when it serves with its own TLS.
    pub root_certificate: Option<PathBuf>,
    /// The admin key that was made because there was none. It is shown here and never again.
    pub first_api_key: Option<String>,
    closing: watch::Sender<bool>,
    tasks: Vec<JoinHandle<Result<(), ServeError>>>,
}

impl Host {
    /// Starts a coordinator.
    ///
    /// The future is boxed so that its code is part of this crate, and not of every program that starts a host.
    ///
    /// # Errors
    /// If the data folder, the database, the certificates or the address cannot be used.
    pub fn start(
        config: HostConfig,
        clock: Clock,
        chance: ChaCha20Rng,
        metrics: Option<PrometheusHandle>,
    ) -> BoxFuture<'static, Result<Self, HostError>> {
        Box::pin(Self::open(config, clock, chance, metrics))
    }

    async fn open(
        config: HostConfig,
        clock: Clock,
        mut chance: ChaCha20Rng,
        metrics: Option<PrometheusHandle>,
    ) -> Result<Self, HostError> {
        let folder = |path: PathBuf| move |source| HostError::Folder { path, source };
        std::fs::create_dir_all(&config.data).map_err(folder(config.data.clone()))?;
        let tls_config = match &config.tls_host_names {
            Some(names) => {
                tls::ensure_authority(&config.data, names)?;
                Some(tls::server_config(&config.data)?)
            }
            None => None,
        };
        let root_certificate = tls_config.as_ref().map(|_| config.data.join(tls::ROOT_FILE));
        let listener = Listener::bind(config.listen, tls_config)?;
        let address = listener.address().map_err(ServeError::Listen)?;

        let sqlite = || format!("sqlite://{}?mode=rwc", config.data.join("folkmoot.db").display());
        let storage =
            SqlStorage::connect(&config.database.clone().unwrap_or_else(sqlite), Default::default()).await?;
        let blobs = BlobStore::local(config.data.join("blobs"))?;
        let log = RoundLog::local(config.data.join("round-log"))?;
        let holder = node_id(&config.data.join("node-id"), &mut chance)?;
        let coordinator = Arc::new(Coordinator::new(storage, blobs, log, chance));
        let now = clock();
        let id_if_new = OrganisationId::from_random_bytes(coordinator.random_bytes());
        let organisation =
            coordinator.storage.ensure_organisation(DEFAULT_ORGANISATION, id_if_new, now).await?;
        let first_api_key = ensure_api_key(&coordinator, organisation, now).await?;
        coordinator.forget_unneeded_logs().await?;

        let place = Place {
            url: url(near(address), root_certificate.is_some()),
            root_certificate: root_certificate.clone(),
            data: config.data.clone(),
        };
        let (closing, closed) = watch::channel(false);
        let app = App {
            coordinator: coordinator.clone(),
            authenticator: Arc::new(Authenticator::new(now)),
            clock: clock.clone(),
            limits: Arc::new(config.limits.clone()),
            edge: Arc::new(Edge::new(&config.limits)),
            metrics,
            started_at: now,
        let health = Arc::new(DriverHealth::default());
            listeners: Arc::default(),
            first_run: config.first_run.map(|make| make.0(&place)),
            closing: closed.clone(),
        };
        let router = http::router(app);
        let limits = config.limits;
        let until_closed = |mut closed: watch::Receiver<bool>| async move {
            let _ = closed.wait_for(|is_closing| *is_closing).await;
        };
        let server_end = until_closed(closed.clone());
            drivers: health.clone(),
        let server = tokio::spawn(async move { http::serve(listener, router, &limits, server_end).await });
        let shared = coordinator.clone();
        let driver_config = DriverConfig { holder, tick: config.tick };
        let driver = tokio::spawn(async move {
            let run = || {
                let (shared, clock, config) = (shared.clone(), clock.clone(), driver_config.clone());
                drivers::run(shared, clock, config, health.clone(), until_closed(closed.clone()))
            };
            drivers::supervise(&health, run, tokio::time::sleep, until_closed(closed.clone())).await;
            Ok(())
        });
        let tasks = vec![server, driver];
        Ok(Self { address, coordinator, organisation, root_certificate, first_api_key, closing, tasks })
    }

    /// Returns the URL at which clients on this machine reach it.
    pub fn url(&self) -> String {
        url(self.address, self.root_certificate.is_some())
    }

    /// Lets open requests and steps end, and stops.
    ///
    /// # Errors
    /// If the socket had failed.
    pub fn stop(self) -> BoxFuture<'static, Result<(), ServeError>> {
        Box::pin(async move {
            let _ = self.closing.send(true);
            for task in self.tasks {
                if let Ok(ended) = task.await {
                    ended?;
                }
            }
            Ok(())
        })
    }
}

fn url(address: SocketAddr, has_tls: bool) -> String {
    let scheme = if has_tls { "https" } else { "http" };
    format!("{scheme}://{address}")
}

/// Returns the address at which a program on this machine reaches the socket.
fn near(address: SocketAddr) -> SocketAddr {
    match address.ip().is_unspecified() {
        true => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        false => address,
    }
}

/// Makes an admin key if the organisation has none, and returns it.
async fn ensure_api_key(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    now: Timestamp,
) -> Result<Option<String>, StorageError> {
    if !coordinator.storage.api_keys(organisation_id).await?.is_empty() {
        return Ok(None);
    }
    let key = Credential::from_random_bytes(coordinator.random_bytes(), coordinator.random_bytes());
    let record = ApiKeyRecord {
        id: key.id.clone(),
        organisation_id,
        name: "first key".into(),
        role: Role::Admin,
        secret_hash: key.secret_hash(),
        created_at: now,
        revoked_at: None,
    };
    coordinator.storage.create_api_key(&record).await?;
    Ok(Some(key.to_string()))
}

/// Returns this node's name, which its leases carry; it stays the same over restarts.
fn node_id(path: &std::path::Path, chance: &mut ChaCha20Rng) -> Result<String, HostError> {
    let failed = |source| HostError::Folder { path: path.to_owned(), source };
    if path.exists() {
        return std::fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(failed);
    }
    let mut bytes = [0; 8];
    chance.fill_bytes(&mut bytes);
    let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::write(path, &name).map_err(failed)?;
    Ok(name)
}
