use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use folkmoot_edge::{
    HttpLimits, Listener, ServeError, local_url, serve,
    tls::{CertificateFiles, LiveCertificate, TlsError},
};
use folkmoot_protocol::{Timestamp, secure::CommitteeKey};
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{Member, MemberFileError, MemberLimits, router};

/// The settings of a member.
#[derive(Clone, Debug)]
pub struct MemberHostConfig {
    /// The data folder, with the keys and the answers.
    pub data: PathBuf,
    /// The address to listen on. With port 0 the system chooses a free port.
    pub listen: SocketAddr,
    /// `true` to serve TLS, `false` if a proxy terminates TLS.
    pub has_tls: bool,
    /// The names and addresses by which coordinators reach the member, in addition to localhost and 127.0.0.1.
    pub host_names: Vec<String>,
    /// The operator's own certificate; `None` uses one from the member's own authority.
    pub certificate: Option<CertificateFiles>,
    /// Limits on incoming connections.
    pub http_limits: HttpLimits,
    /// Limits on the work.
    pub limits: MemberLimits,
    /// The smallest number of clients in a sum, whatever a plan says.
    pub cohort_min: u64,
    /// The largest number of values in a sum.
    pub values_max: u64,
}

/// Why a member cannot run.
#[derive(Debug, thiserror::Error)]
pub enum MemberHostError {
    /// The data folder.
    #[error("the data folder cannot be used: {0}")]
    Files(#[from] MemberFileError),
    /// The certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// A running member.
pub struct MemberHost {
    /// The address that the member listens on.
    pub address: SocketAddr,
    /// The member's public key.
    pub key: CommitteeKey,
    /// The file with the access token.
    pub token_file: PathBuf,
    /// The root certificate's file, if the member's own authority issued its certificate.
    pub root_certificate: Option<PathBuf>,
    has_tls: bool,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Result<(), ServeError>>,
}

impl MemberHost {
    /// Opens the data folder, binds the address and serves.
    ///
    /// # Errors
    /// [`MemberHostError`] if the folder, the certificate or the address cannot be used.
    pub fn start(config: MemberHostConfig, now: Timestamp) -> Result<Self, MemberHostError> {
        let member = Arc::new(Member::open(&config.data, config.cohort_min, config.values_max)?);
        let own = (config.data.as_path(), &*config.host_names);
        let (certificate, root_certificate) =
            LiveCertificate::of_host(config.has_tls, config.certificate, own, None, now)?;
        let listener = Listener::bind(config.listen, certificate)?;
        let address = listener.address().map_err(ServeError::Listen)?;
        let (stop, stopped) = oneshot::channel();
        let (key, token_file) = (member.key(), member.token_file());
        let serving = serve(listener, router(member, config.limits), config.http_limits, async {
            // A dropped host stops, too.
            let _ = stopped.await;
        });
        let server = tokio::spawn(serving);
        Ok(Self { address, key, token_file, root_certificate, has_tls: config.has_tls, stop, server })
    }

    /// Returns the URL at which a coordinator on this machine can reach the member.
    pub fn url(&self) -> String {
        local_url(self.address, self.has_tls)
    }

    /// Returns the scheme of the member's URL.
    pub fn scheme(&self) -> &'static str {
        if self.has_tls { "https" } else { "http" }
    }

    /// Waits for open requests, then stops.
    ///
    /// # Errors
    /// [`ServeError`] if the listening socket failed.
    pub async fn stop(self) -> Result<(), ServeError> {
        let _ = self.stop.send(());
        self.server.await.unwrap_or(Ok(()))
    }
}
