use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use folkmoot_api::{AdminClient, AdminError, rounds::aggregators::AggregatorWorkRequest};
use folkmoot_client::{HttpSettings, TransportError, build_http, parse_coordinator};
use folkmoot_combine::ingest::Ingest;
use folkmoot_edge::{
    HttpLimits, Listener, ServeError, local_url, serve,
    tls::{CertificateFiles, LiveCertificate, Reload, TlsError},
};
use folkmoot_protocol::Timestamp;
use folkmoot_round_log::{RoundLog, RoundLogError};
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    app::App,
    folder::{Folder, FolderError},
    router::router,
    upstream::Upstream,
    work::Work,
};

/// The folder of the updates inside the data folder.
const LOG_FOLDER: &str = "round-log";

/// The settings of an edge aggregator.
#[derive(Clone)]
pub struct EdgeHostConfig {
    /// The data folder, with the updates of open rounds and the certificate.
    pub data: PathBuf,
    /// The address to listen on. With port 0 the system chooses a free port.
    pub listen: SocketAddr,
    /// `true` to serve TLS, `false` if a proxy terminates TLS.
    pub has_tls: bool,
    /// The names and addresses by which clients reach the aggregator, in addition to localhost and 127.0.0.1. The coordinator
    /// must know them, too, because clients sign their requests for them.
    pub host_names: Vec<String>,
    /// The operator's own certificate; `None` uses one from the aggregator's own authority.
    pub certificate: Option<CertificateFiles>,
    /// Limits on incoming connections and requests.
    pub limits: HttpLimits,
    /// The coordinator's address.
    pub upstream: String,
    /// The API key of the role `aggregator`, as `ID.SECRET`.
    pub api_key: String,
    /// The root certificates of the coordinator, as PEM; `None` trusts those of the system.
    pub upstream_ca: Option<Vec<u8>>,
}

/// Why an edge aggregator cannot run.
#[derive(Debug, thiserror::Error)]
pub enum EdgeHostError {
    /// The data folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The round log.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// The certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The coordinator's address or certificate.
    #[error(transparent)]
    Upstream(#[from] TransportError),
    /// The coordinator cannot be reached, or refuses the API key.
    #[error(transparent)]
    Coordinator(#[from] AdminError),
}

/// A running edge aggregator.
pub struct EdgeHost {
    /// The address that the aggregator listens on.
    pub address: SocketAddr,
    /// The root certificate's file, if the aggregator's own authority issued its certificate.
    pub root_certificate: Option<PathBuf>,
    certificate: Option<LiveCertificate>,
    has_tls: bool,
    stop: watch::Sender<bool>,
    server: JoinHandle<Result<(), ServeError>>,
    work: JoinHandle<()>,
    _folder: Folder,
}

impl EdgeHost {
    /// Opens the data folder, binds the address, and serves. Asks the coordinator once, so that a wrong address or key is found
    /// at once.
    ///
    /// # Errors
    /// [`EdgeHostError`] if the folder, the certificate or an address cannot be used, or the coordinator refuses the key.
    pub async fn start(config: EdgeHostConfig, now: Timestamp) -> Result<Self, EdgeHostError> {
        let base = parse_coordinator(config.upstream.trim())?;
        let certificates =
            HttpSettings { certificate_pem: config.upstream_ca.clone(), ..HttpSettings::default() };
        // One connection for each waiting client: HTTP/2 would share one, whose streams and windows are few.
        let http = build_http(&HttpSettings { http1_only: true, ..certificates })?;
        let admin = AdminClient::new(&config.upstream, &config.api_key, config.upstream_ca.clone())?;
        admin.aggregator_work(&AggregatorWorkRequest::default()).await?;
        let folder = Folder::open(&config.data)?;
        let log = RoundLog::local(config.data.join(LOG_FOLDER))?;
        let own = (config.data.as_path(), &*config.host_names);
        let (certificate, root_certificate) =
            LiveCertificate::of_host(config.has_tls, config.certificate, own, None, now)?;
        let listener = Listener::bind(config.listen, certificate.clone())?;
        let address = listener.address().map_err(ServeError::Listen)?;
        let (ingest, upstream) = (Arc::new(Ingest::new(log)), Arc::new(Upstream::new(admin)));
        let (stop, stops) = watch::channel(false);
        let app = App {
            ingest: ingest.clone(),
            upstream: upstream.clone(),
            http,
            base,
            limits: Arc::new(config.limits.clone()),
            stops: stops.clone(),
        };
        let stopped = || {
            let mut stops = stops.clone();
            // A dropped host stops, too.
            async move { drop(stops.wait_for(|is_over| *is_over).await) }
        };
        let server = tokio::spawn(serve(listener, router(app), config.limits, stopped()));
        let work = tokio::spawn(Work::new(ingest, upstream).run(stopped()));
        let has_tls = config.has_tls;
        Ok(Self { address, root_certificate, certificate, has_tls, stop, server, work, _folder: folder })
    }

    /// Returns the URL at which clients on this machine can reach the aggregator.
    pub fn url(&self) -> String {
        local_url(self.address, self.has_tls)
    }

    /// Returns the scheme of the aggregator's URL.
    pub fn scheme(&self) -> &'static str {
        if self.has_tls { "https" } else { "http" }
    }

    /// Reloads the certificate and its key from their files, and uses them for new connections. Returns `None` if a proxy
    /// terminates TLS.
    ///
    /// # Errors
    /// Fails if the files cannot be used. The previous certificate then stays in use.
    pub fn reload_certificate(&self, now: Timestamp) -> Result<Option<Reload>, TlsError> {
        self.certificate.as_ref().map(|certificate| certificate.reload(now)).transpose()
    }

    /// Waits for open requests, then stops. The updates stay in the data folder.
    ///
    /// # Errors
    /// [`ServeError`] if the listening socket failed.
    pub async fn stop(self) -> Result<(), ServeError> {
        let _ = self.stop.send(true);
        let _ = self.work.await;
        self.server.await.unwrap_or(Ok(()))
    }
}
