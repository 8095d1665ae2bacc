//! A running coordinator: opens the data folder, binds the socket, starts the drivers, and ends in good order.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use folkmoot_protocol::{OrganisationId, Role, Timestamp};
use folkmoot_rounds::{
    clock::Clock,
    coordinator::{Coordinator, ForgetError},
    credential::Credential,
    device::Authenticator,
    drivers::{self, DriverConfig, DriverHealth},
};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, BlobStore, BlobStoreError, PopulationRepository, RoundLog, RoundLogError,
    SqlStorage, StorageError,
};
use futures::future::BoxFuture;
use metrics_exporter_prometheus::PrometheusHandle;
use rand_chacha::ChaCha20Rng;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    data_folder::{DataFolder, DataFolderError},
    http::{
        self, App, FirstRun, HttpLimits, Listener, ServeError,
        edge::Edge,
        tls::{self, CertificateFiles, LiveCertificate, Reload},
    },
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
    /// An operator's own certificate, in the place of one of the coordinator's authority.
    pub certificate: Option<CertificateFiles>,
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
            certificate: None,
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
    #[error(transparent)]
    Folder(#[from] DataFolderError),
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
    /// The root certificate's file, when it serves with a certificate of its own authority.
    pub root_certificate: Option<PathBuf>,
    /// The admin key that was made because there was none. It is shown here and never again.
    pub first_api_key: Option<String>,
    /// The file in which that key is kept.
    pub first_api_key_file: Option<PathBuf>,
    certificate: Option<LiveCertificate>,
    clock: Clock,
    closing: watch::Sender<bool>,
    tasks: Vec<JoinHandle<Result<(), ServeError>>>,
    _folder: DataFolder,
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
        let folder = DataFolder::open(&config.data)?;
        let now = clock();
        let (certificate, root_certificate) = certificate(&config, now)?;
        let listener = Listener::bind(config.listen, certificate.clone())?;
        let address = listener.address().map_err(ServeError::Listen)?;

        let database = config.database.clone().unwrap_or_else(|| folder.sqlite_url());
        let storage = SqlStorage::connect(&database, Default::default()).await?;
        let blobs = BlobStore::local(config.data.join("blobs"))?;
        let log = RoundLog::local(config.data.join("round-log"))?;
        let holder = folder.node_id(&mut chance)?;
        let coordinator = Arc::new(Coordinator::new(storage, blobs, log, chance));
        let id_if_new = OrganisationId::from_random_bytes(coordinator.random_bytes());
        let organisation =
            coordinator.storage.ensure_organisation(DEFAULT_ORGANISATION, id_if_new, now).await?;
        let first_key = ensure_api_key(&coordinator, organisation, now).await?;
        let kept = first_key.as_ref().map(|key| folder.keep_first_key(&key.id, &key.to_string()));
        let first_api_key_file = kept.transpose()?;
        let first_api_key = first_key.map(|key| key.to_string());
        coordinator.forget_unneeded_logs().await?;

        let place = Place {
            url: url(near(address), certificate.is_some()),
            root_certificate: root_certificate.clone(),
            data: config.data.clone(),
        };
        let (closing, closed) = watch::channel(false);
        let health = Arc::new(DriverHealth::default());
        let app = App {
            coordinator: coordinator.clone(),
            authenticator: Arc::new(Authenticator::new(now, &coordinator.storage)),
            clock: clock.clone(),
            limits: Arc::new(config.limits.clone()),
            edge: Arc::new(Edge::new(&config.limits)),
            metrics,
            started_at: now,
            listeners: Arc::default(),
            first_run: config.first_run.map(|make| make.0(&place)),
            closing: closed.clone(),
            drivers: health.clone(),
        };
        let router = http::router(app);
        let limits = config.limits;
        let until_closed = |mut closed: watch::Receiver<bool>| async move {
            let _ = closed.wait_for(|is_closing| *is_closing).await;
        };
        let server_end = until_closed(closed.clone());
        let server = tokio::spawn(async move { http::serve(listener, router, &limits, server_end).await });
        let shared = coordinator.clone();
        let time = clock.clone();
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
        Ok(Self {
            address,
            coordinator,
            organisation,
            root_certificate,
            first_api_key,
            first_api_key_file,
            certificate,
            clock: time,
            closing,
            tasks,
            _folder: folder,
        })
    }

    /// Returns the URL at which clients on this machine reach it.
    pub fn url(&self) -> String {
        url(self.address, self.certificate.is_some())
    }

    /// Reads the certificate and its key again, and serves new connections with them. `None` where a proxy has the certificate.
    ///
    /// # Errors
    /// If the files cannot be used: the certificate of before is served on.
    pub fn reload_certificate(&self) -> Result<Option<Reload>, tls::TlsError> {
        self.certificate.as_ref().map(|certificate| certificate.reload((self.clock)())).transpose()
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

/// Loads the certificate that is served, and says where its root is if the coordinator made it.
fn certificate(
    config: &HostConfig,
    now: Timestamp,
) -> Result<(Option<LiveCertificate>, Option<PathBuf>), tls::TlsError> {
    match (&config.tls_host_names, &config.certificate) {
        (Some(_), Some(files)) => Ok((Some(LiveCertificate::load(files.clone(), now)?), None)),
        (Some(names), None) => {
            tls::ensure_authority(&config.data, names, now)?;
            let own = LiveCertificate::load(CertificateFiles::own(&config.data), now)?;
            Ok((Some(own), Some(config.data.join(tls::ROOT_FILE))))
        }
        (None, _) => Ok((None, None)),
    }
}

/// Makes an admin key if the organisation has none, and returns it.
async fn ensure_api_key(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    now: Timestamp,
) -> Result<Option<Credential>, StorageError> {
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
    Ok(Some(key))
}
