//! A running coordinator: opens the data folder, binds the socket, starts the drivers, and shuts down gracefully.

mod database;
mod error;
mod first;
mod secrets;
mod sharing;

use std::{collections::BTreeSet, fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

pub use error::HostError;
pub use first::DEFAULT_ORGANISATION;
use first::{ensure_api_key, first_organisation, request_id_key};
use folkmoot_committee::{HttpCommittee, MemberConfig};
use folkmoot_edge::{
    Edge, HttpLimits, Listener, Names, ServeError, local_url, serve,
    tls::{self, CertificateFiles, ClientAuthority, LiveCertificate, Reload},
};
use folkmoot_notification::{Deliveries, NotificationConfig};
use folkmoot_objects::{BlobStore, Objects};
use folkmoot_processes::{ProcessRecord, ProcessTable};
use folkmoot_protocol::{OrganisationId, Timestamp};
use folkmoot_rounds::{
    clock::Clock,
    coordinator::Coordinator,
    device::Authenticator,
    drivers::{self, DriverConfig, DriverHealth},
};
use folkmoot_sign_in::SignInConfig;
use folkmoot_storage::SqlStorage;
use futures::future::BoxFuture;
use metrics_exporter_prometheus::PrometheusHandle;
use rand_chacha::ChaCha20Rng;
use secrets::{channels, providers};
use sharing::{join, share, this_process};
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};

use crate::{
    collection,
    data_folder::DataFolder,
    http::{self, App, FirstRun},
    metering,
    stage::Stage,
    watch::Watch,
};

/// The settings with which a coordinator starts: folder, database, address, certificate and limits.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The data folder, with database, blobs, round log and certificates.
    pub data: PathBuf,
    /// The database's URL; `None` uses SQLite in the data folder.
    pub database: Option<String>,
    /// The URL of the object storage for blobs and updates, which several coordinators can share; `None` uses the data
    /// folder. Its credentials are environment variables.
    pub objects: Option<String>,
    /// The address to listen on. With port 0 the system chooses a free port.
    pub listen: SocketAddr,
    /// `true` to serve TLS, `false` if a proxy terminates TLS.
    pub has_tls: bool,
    /// The names and addresses by which clients reach the coordinator, in addition to localhost and 127.0.0.1. They are
    /// in its own certificate, and requests may be signed for them.
    pub host_names: Vec<String>,
    /// The operator's own certificate; `None` uses one from the coordinator's own authority.
    pub certificate: Option<CertificateFiles>,
    /// The authority of client certificates, if clients need one.
    pub client_authority: Option<ClientAuthority>,
    /// Limits on incoming HTTP connections and requests.
    pub limits: HttpLimits,
    /// The interval at which the drivers check deadlines while no event wakes them.
    pub tick: Duration,
    /// The demo offered on a coordinator without tasks.
    pub first_run: Option<MakeFirstRun>,
    /// The identity providers that people sign in with.
    pub sign_in: SignInConfig,
    /// The members of committees for secure aggregation.
    pub committee: Vec<MemberConfig>,
    /// The channels for notices.
    pub notifications: NotificationConfig,
    /// The number of days after which entries of audit logs are removed; `None` keeps them.
    pub audit_keep_days: Option<u32>,
    /// The number of a task's newest versions whose weights are kept; `None` keeps all.
    pub keep_versions: Option<u64>,
}

/// The location of a running coordinator, for a client on the same machine.
#[derive(Clone, Debug)]
pub struct Place {
    /// The base URL.
    pub url: String,
    /// The root certificate's file, if the coordinator's own authority issued its certificate.
    pub root_certificate: Option<PathBuf>,
    /// The data folder.
    pub data: PathBuf,
}

/// Creates the demo after the coordinator has bound its address.
#[derive(Clone, Copy)]
pub struct MakeFirstRun(pub fn(&Place) -> Arc<dyn FirstRun>);

impl fmt::Debug for MakeFirstRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeFirstRun")
    }
}

impl HostConfig {
    /// Returns the configuration of a coordinator that only this machine can reach: TLS on loopback, any free port.
    pub fn loopback(data: PathBuf) -> Self {
        Self {
            data,
            database: None,
            objects: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            has_tls: true,
            host_names: Vec::new(),
            certificate: None,
            client_authority: None,
            limits: HttpLimits::default(),
            tick: Duration::from_millis(250),
            first_run: None,
            sign_in: SignInConfig::default(),
            committee: Vec::new(),
            notifications: NotificationConfig::default(),
            audit_keep_days: None,
            keep_versions: None,
        }
    }
}

/// A running coordinator.
pub struct Host {
    /// The address that the coordinator listens on.
    pub address: SocketAddr,
    /// The coordinator.
    pub coordinator: Arc<Coordinator>,
    /// The organisation that the first API key belongs to.
    pub organisation: OrganisationId,
    /// The root certificate's file, if the coordinator's own authority issued its certificate.
    pub root_certificate: Option<PathBuf>,
    /// The first admin key, if the coordinator created one at this start because the organisation had no key. The
    /// database stores only its hash.
    pub first_api_key: Option<String>,
    /// The file that contains the first admin key, if the coordinator created the key at this start.
    pub first_api_key_file: Option<PathBuf>,
    certificate: Option<LiveCertificate>,
    clock: Clock,
    stage: watch::Sender<Stage>,
    tasks: Vec<JoinHandle<Result<(), ServeError>>>,
    _folder: DataFolder,
}

impl Host {
    /// Opens the data folder and the database, binds the address, and starts the server and the drivers.
    ///
    /// The future is boxed so that its code is compiled once, in this crate, and not in every program that starts a
    /// host.
    ///
    /// # Errors
    /// Returns a [`HostError`] if the data folder, the database, the blobs, the round log, the certificates or the
    /// address cannot be used, or if old update logs cannot be removed.
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
        let (now, request_id_key) = (clock(), request_id_key(&chance));
        let (certificate, root_certificate) = certificate(&config, now)?;
        let listener = Listener::bind(config.listen, certificate.clone())?;
        let address = listener.address().map_err(ServeError::Listen)?;

        let database = config.database.clone().unwrap_or_else(|| folder.sqlite_url());
        let storage = database::open(&database).await?;
        let holder = folder.node_id(&mut chance)?;
        let own = this_process(&config, &holder, now);
        let table = ProcessTable::of(&storage);
        join(table.as_ref(), &own).await?;
        let organisation = first_organisation(&storage, &mut chance, now).await?;
        let coordinator = Arc::new(coordinator(&config, storage, organisation, &own, chance)?);
        let first_key = ensure_api_key(&coordinator, organisation, &holder, now).await?;
        let kept = first_key.as_ref().map(|key| folder.keep_first_key(&key.id, &key.to_string()));
        let first_api_key_file = kept.transpose()?;
        coordinator.forget_unneeded_logs().await?;

        let place = Place {
            url: local_url(address, certificate.is_some()),
            root_certificate: root_certificate.clone(),
            data: config.data.clone(),
        };
        let deliveries = Deliveries::new(channels(&config, &place.url)?);
        let (stage, stages) = watch::channel(Stage::default());
        let health = Arc::new(DriverHealth::default());
        let app = App {
            coordinator: coordinator.clone(),
            names: Arc::new(Names::new(certificate.clone(), config.host_names.clone())),
            authenticator: Arc::new(Authenticator::new(now, &coordinator.storage)),
            clock: clock.clone(),
            limits: Arc::new(config.limits.clone()),
            edge: Arc::new(Edge::new(&config.limits, request_id_key)),
            metrics,
            started_at: now,
            listeners: Arc::default(),
            renewals: Arc::default(),
            first_run: config.first_run.map(|make| make.0(&place)),
            stage: stages.clone(),
            providers: Arc::new(providers(&config.sign_in, &place.url)?),
            notifications: deliveries.board(),
            drivers: health.clone(),
        };
        let closing = || Stage::Closing.reached(stages.clone());
        let server = tokio::spawn(serve(listener, http::router(app), config.limits, closing()));
        let meter = tokio::spawn(metering::run(coordinator.clone(), clock.clone(), closing()));
        let watch = Watch::new(coordinator.clone(), holder.clone(), clock.clone(), deliveries);
        let watch = tokio::spawn(watch.run(closing()));
        let collector = collection::spawn(&coordinator, &clock, &holder, organisation, closing());
        let driver_config = DriverConfig { holder, tick: config.tick };
        let (give_up, given_up) = oneshot::channel();
        let driver =
            drive(coordinator.clone(), clock.clone(), driver_config, health, stages.clone(), give_up);
        let mut tasks = vec![server, tokio::spawn(driver), meter, watch, collector];
        tasks.extend(
            table.map(|table| tokio::spawn(share(coordinator.clone(), table, own, given_up, closing()))),
        );
        Ok(Self {
            address,
            coordinator,
            organisation,
            root_certificate,
            first_api_key: first_key.map(|key| key.to_string()),
            first_api_key_file,
            certificate,
            clock,
            stage,
            tasks,
            _folder: folder,
        })
    }

    /// Returns the URL at which clients on this machine can reach the coordinator.
    pub fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Reloads the certificate and its key from their files, and uses them for new connections. Returns `None` if a
    /// proxy terminates TLS.
    ///
    /// # Errors
    /// Fails if the files cannot be used. The previous certificate then stays in use.
    pub fn reload_certificate(&self) -> Result<Option<Reload>, tls::TlsError> {
        self.certificate.as_ref().map(|certificate| certificate.reload((self.clock)())).transpose()
    }

    /// Reloads the authority of client certificates and its revocations from their files, and uses them for new and open
    /// connections. Returns `None` if clients need no certificate.
    ///
    /// # Errors
    /// Fails if the files cannot be used. The previous ones then stay in use.
    pub fn reload_client_authority(&self) -> Result<Option<Reload>, tls::TlsError> {
        self.certificate.as_ref().map_or(Ok(None), LiveCertificate::reload_clients)
    }

    /// Starts to leave: `/readyz` answers 503, and other processes take over the tasks of this one. Requests are still
    /// served, until [`Host::stop`].
    pub fn drain(&self) {
        let _ = self.stage.send(Stage::Draining);
    }

    /// Waits for open requests and driver steps to finish, then stops. Long polls are answered at once.
    ///
    /// # Errors
    /// Returns the error of the listening socket if it failed while the coordinator was running.
    pub fn stop(self) -> BoxFuture<'static, Result<(), ServeError>> {
        Box::pin(async move {
            let _ = self.stage.send(Stage::Closing);
            for task in self.tasks {
                if let Ok(ended) = task.await {
                    ended?;
                }
            }
            // The last requests have ended only now.
            metering::settle(&self.coordinator, &self.clock).await;
            Ok(())
        })
    }
}

/// Runs the drivers until the coordinator drains, and starts them again if they panic. Sends to `give_up` when the last
/// step has ended and the leases are released.
async fn drive(
    coordinator: Arc<Coordinator>,
    clock: Clock,
    config: DriverConfig,
    health: Arc<DriverHealth>,
    stages: watch::Receiver<Stage>,
    give_up: oneshot::Sender<()>,
) -> Result<(), ServeError> {
    let draining = || Stage::Draining.reached(stages.clone());
    let run = || {
        let (shared, clock, config) = (coordinator.clone(), clock.clone(), config.clone());
        drivers::run(shared, clock, config, health.clone(), draining())
    };
    drivers::supervise(&health, run, tokio::time::sleep, draining()).await;
    // From now on, another process reports the demand of the tasks for clients.
    coordinator.crowds.retain(&BTreeSet::new());
    // A coordinator with SQLite has nobody to tell.
    let _ = give_up.send(());
    Ok(())
}

/// Assembles the coordinator over the data folder, or over the object storage if there is one.
fn coordinator(
    config: &HostConfig,
    storage: SqlStorage,
    database: OrganisationId,
    own: &ProcessRecord,
    chance: ChaCha20Rng,
) -> Result<Coordinator, HostError> {
    let log = folkmoot_round_log::RoundLog::local(config.data.join("round-log"))?;
    let committee = HttpCommittee::new(&config.committee, &|name| std::env::var(name).ok())?;
    let assembled = |blobs| {
        let assembled = Coordinator::new(storage, blobs, log, chance).with_committee(Arc::new(committee));
        assembled.with_audit_retention(config.audit_keep_days).with_version_retention(config.keep_versions)
    };
    let Some(url) = &config.objects else {
        return Ok(assembled(BlobStore::local(config.data.join("blobs"))?));
    };
    let objects = Objects::open(url, std::env::vars_os())?;
    let updates = objects.updates(&database.to_string(), &own.start_id);
    Ok(assembled(objects.blobs()).with_update_store(updates))
}

/// Loads the certificate to serve. Also returns the root certificate's file, if the coordinator's own authority
/// issued the certificate.
fn certificate(
    config: &HostConfig,
    now: Timestamp,
) -> Result<(Option<LiveCertificate>, Option<PathBuf>), tls::TlsError> {
    let own = (config.data.as_path(), &*config.host_names);
    let clients = config.client_authority.clone();
    LiveCertificate::of_host(config.has_tls, config.certificate.clone(), own, clients, now)
}
