//! The limits that all requests share.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use axum::{
    extract::ConnectInfo,
    http::{Extensions, HeaderMap},
};
use folkmoot_protocol::{Problem, Timestamp};
use tokio::sync::Semaphore;

use super::{Budget, HttpLimits, Peer, Proxies, RequestIds, Throttle};

/// The total size, in bytes, of request bodies in progress from unauthenticated senders.
const STRANGERS_BYTES_MAX: usize = 32 << 20;
/// The total size, in bytes, of request bodies in progress from enrolled clients and key holders. It excludes updates,
/// which are written to disk as they arrive.
const KNOWN_BYTES_MAX: usize = 256 << 20;

/// The maximum number of enrolments processed at the same time. Each enrolment costs a signature verification and a
/// database query.
const ENROLMENTS_AT_A_TIME: usize = 2;

/// The limits that all requests share.
pub struct Edge {
    /// Memory for bodies of unauthenticated senders.
    pub strangers: Budget,
    /// Memory for bodies of authenticated senders.
    pub known: Budget,
    /// Limits the rate at which one address may send wrong enrolment tokens and API keys. Secrets have 256 random bits
    /// and cannot be guessed anyway; the limit saves the coordinator the work of checking. It is generous because many
    /// devices may share an address.
    pub failures: Throttle,
    /// Limits requests per address for public content: the console's files and the API's description.
    pub pages: Throttle,
    /// The permits to verify an enrolment's signature and token. Enrolments without a permit wait in line, so that many
    /// enrolments cannot slow down check-ins.
    pub enrolments: Semaphore,
    /// The only permit to run a CPU-intensive request, such as a privacy plan or a task check.
    pub computations: Arc<Semaphore>,
    /// The proxies whose headers `x-forwarded-for` and `x-request-id` are trusted.
    pub proxies: Arc<Proxies>,
    /// Creates the ids of requests.
    pub request_ids: Arc<RequestIds>,
}

impl Edge {
    /// Creates the limits of a coordinator that has just started. `request_id_key` must be random.
    pub fn new(limits: &HttpLimits, request_id_key: [u8; 32]) -> Self {
        Self {
            strangers: Budget::new("unauthenticated_bodies", STRANGERS_BYTES_MAX),
            known: Budget::new("bodies", KNOWN_BYTES_MAX),
            failures: Throttle::new("failures", 100.0, 5.0),
            pages: Throttle::new("pages", 60.0, 10.0),
            enrolments: Semaphore::new(ENROLMENTS_AT_A_TIME),
            computations: Arc::new(Semaphore::new(1)),
            proxies: limits.trusted_proxies.clone(),
            request_ids: Arc::new(RequestIds::new(request_id_key, limits.trusted_proxies.clone())),
        }
    }

    /// Counts a wrong token or key.
    ///
    /// # Errors
    /// Returns a rate-limit refusal if the address has sent too many wrong tokens or keys. A correct token or key is
    /// never refused because of wrong ones from the same address.
    pub fn failed(&self, sender: Peer, now: Timestamp) -> Result<(), Box<Problem>> {
        self.failures.check(sender, now, "too many wrong tokens or keys came from this address; slow down")
    }

    /// Returns the sender of a request.
    pub fn sender(&self, headers: &HeaderMap, extensions: &Extensions) -> Peer {
        // Without a socket, as in tests, all requests share one address.
        let address = extensions.get().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(ip)| *ip);
        self.proxies.sender(address, headers)
    }
}
