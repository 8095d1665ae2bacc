//! Limits between the sockets and the handlers. They apply before a peer is authenticated.

mod activity;
mod address;
mod budget;
mod connections;
mod files;
mod stream;
mod tarpit;
mod throttle;
mod turnstile;
mod warning;

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

pub use address::{Peer, Proxies};
use axum::{
    body::Body,
    extract::{ConnectInfo, State},
    http::{Extensions, HeaderMap, Request},
    middleware::Next,
    response::Response,
};
pub use budget::{Budget, Lent};
pub use connections::{Connections, Guarded};
pub use files::raise_open_files;
use folkmoot_protocol::Timestamp;
use folkmoot_rounds::refusal::Refusal;
pub use throttle::Throttle;
use tokio::sync::Semaphore;
pub use warning::warn_of;

use super::{App, HttpLimits};
use crate::http::problem::Refused;

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
    /// The proxies whose `x-forwarded-for` header is trusted.
    pub proxies: Arc<Proxies>,
}

impl Edge {
    /// Creates the limits of a coordinator that has just started.
    pub fn new(limits: &HttpLimits) -> Self {
        Self {
            strangers: Budget::new("unauthenticated_bodies", STRANGERS_BYTES_MAX),
            known: Budget::new("bodies", KNOWN_BYTES_MAX),
            failures: Throttle::new("failures", 100.0, 5.0),
            pages: Throttle::new("pages", 60.0, 10.0),
            enrolments: Semaphore::new(ENROLMENTS_AT_A_TIME),
            computations: Arc::new(Semaphore::new(1)),
            proxies: limits.trusted_proxies.clone(),
        }
    }

    /// Counts a wrong token or key. Returns `refusal`, or a rate-limit refusal if the address has sent too many wrong
    /// tokens or keys. A correct token or key is never refused because of wrong ones from the same address.
    pub fn failed(&self, sender: Peer, refusal: Refusal, now: Timestamp) -> Refusal {
        let detail = "too many wrong tokens or keys came from this address; slow down";
        self.failures.check(sender, now, detail).err().unwrap_or(refusal)
    }

    /// Returns the sender of a request.
    pub fn sender(&self, headers: &HeaderMap, extensions: &Extensions) -> Peer {
        // Without a socket, as in tests, all requests share one address.
        let address = extensions.get().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(ip)| *ip);
        self.proxies.sender(address, headers)
    }
}

/// Serves public content, unless the address requests it too often. The content is large, and serving it costs work.
pub async fn limit_pages(
    State(app): State<App>,
    request: Request<Body>,
    next: Next,
) -> Result<Response, Refused> {
    let sender = app.edge.sender(request.headers(), request.extensions());
    app.edge.pages.check(sender, (app.clock)(), "this address requests too many pages; slow down")?;
    Ok(next.run(request).await)
}
