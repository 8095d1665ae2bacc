//! Signed requests to a coordinator, one typed method for each endpoint. The transport retries only a request that
//! failed because this host's clock was wrong. The session decides about all other retries.

mod assignment;
mod blob;
mod body;
mod enrol;
mod error;
mod http;
mod not_pinned;
mod pins;
mod request;
mod response;
mod rollout;
mod settings;
mod tls;

use std::sync::{
    Arc, RwLock,
    atomic::{AtomicI64, Ordering},
};

use folkmoot_protocol::{ClientId, Timestamp};

pub use body::{Pieces, UpdateSource};
pub use error::TransportError;
pub use http::{build_http, build_http_from, parse_coordinator};
pub use not_pinned::NotPinnedError;
pub use pins::pins_of;
pub use settings::{ClientCertificate, HttpSettings};

use crate::{ClientKey, Host, traffic::Traffic};

/// A client's connection to one coordinator. Copies share their state.
#[derive(Clone, Debug)]
pub struct Transport(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    http: reqwest::Client,
    coordinator: reqwest::Url,
    key: ClientKey,
    client_id: RwLock<Option<ClientId>>,
    /// The coordinator's clock minus this host's, in milliseconds.
    clock_offset: AtomicI64,
    host: Host,
    traffic: Arc<Traffic>,
}

impl Transport {
    /// Creates a transport with its own connections.
    ///
    /// # Errors
    /// [`TransportError::Address`] if the address is invalid, and the errors of [`build_http`].
    pub fn new(
        settings: &HttpSettings,
        coordinator: &str,
        key: ClientKey,
        host: Host,
    ) -> Result<Self, TransportError> {
        settings.check_address(&parse_coordinator(coordinator)?)?;
        Self::with_http(build_http(settings)?, coordinator, key, host)
    }

    /// Creates a transport on connections that clients in one process share; see [`build_http`].
    ///
    /// # Errors
    /// [`TransportError::Address`] if `coordinator` is neither `https://host[:port]` nor an `http://` address of this
    /// machine.
    pub fn with_http(
        http: reqwest::Client,
        coordinator: &str,
        key: ClientKey,
        host: Host,
    ) -> Result<Self, TransportError> {
        let traffic = Arc::new(Traffic::unlimited(host.clone()));
        Self::with_traffic(http, coordinator, key, host, traffic)
    }

    /// Like [`Transport::with_http`], with traffic limits.
    pub(crate) fn with_traffic(
        http: reqwest::Client,
        coordinator: &str,
        key: ClientKey,
        host: Host,
        traffic: Arc<Traffic>,
    ) -> Result<Self, TransportError> {
        let coordinator = parse_coordinator(coordinator)?;
        let client_id = RwLock::new(None);
        Ok(Self(Arc::new(Shared {
            http,
            coordinator,
            key,
            client_id,
            clock_offset: AtomicI64::new(0),
            host,
            traffic,
        })))
    }

    /// Returns the client id that requests carry.
    pub fn client_id(&self) -> Option<ClientId> {
        *self.0.client_id.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns the client's key.
    pub fn key(&self) -> &ClientKey {
        &self.0.key
    }

    /// Sets the id of an earlier enrolment with the same key.
    pub fn set_client_id(&self, client_id: ClientId) {
        *self.0.client_id.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(client_id);
    }

    /// Returns the coordinator's address.
    pub fn coordinator(&self) -> &str {
        self.0.coordinator.as_str()
    }

    /// Returns the host in the coordinator's address.
    fn host_name(&self) -> &str {
        self.0.coordinator.host_str().unwrap_or_default()
    }

    /// Returns the estimated time at the coordinator.
    fn coordinator_time(&self) -> Timestamp {
        let offset = self.0.clock_offset.load(Ordering::Relaxed);
        Timestamp(self.0.host.now().0.saturating_add_signed(offset))
    }

    /// Adjusts the clock offset to the coordinator's time, for later signatures.
    fn learn_time(&self, server_time: Timestamp) {
        let offset = i128::from(server_time.0) - i128::from(self.0.host.now().0);
        let offset = i64::try_from(offset).unwrap_or(0);
        self.0.clock_offset.store(offset, Ordering::Relaxed);
    }
}
