//! What stands between a socket and a handler: limits that hold before anything that a peer says is believed.

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

/// Bytes of requests' bodies that may be under way at one time from senders that are not known yet.
const STRANGERS_BYTES_MAX: usize = 32 << 20;
/// Bytes of requests' bodies that may be under way at one time from enrolled clients and holders of a key. Updates are not
/// among them: they go to the disk as they come.
const KNOWN_BYTES_MAX: usize = 256 << 20;

/// Enrolments that are looked at at a time: each costs a signature and a question to the database.
const ENROLMENTS_AT_A_TIME: usize = 2;

/// The limits that requests share.
pub struct Edge {
    /// Memory for bodies whose senders are not known yet.
    pub strangers: Budget,
    /// Memory for bodies of those who are.
    pub known: Budget,
    /// Wrong enrolment tokens and API keys. Secrets have 256 bits: it does not keep them from being guessed but the machine from
    /// being busy, and many devices may share an address.
    pub failures: Throttle,
    /// Requests for what anybody may see: the console's files and the API's description.
    pub pages: Throttle,
    /// Turns of enrolments whose signature and token are looked at: all others wait in line, and not before a check-in.
    pub enrolments: Semaphore,
    /// Whose word for the address of a request is taken.
    pub proxies: Arc<Proxies>,
}

impl Edge {
    /// Makes the limits of a coordinator that has just started.
    pub fn new(limits: &HttpLimits) -> Self {
        Self {
            strangers: Budget::new("unauthenticated_bodies", STRANGERS_BYTES_MAX),
            known: Budget::new("bodies", KNOWN_BYTES_MAX),
            failures: Throttle::new("failures", 100.0, 5.0),
            pages: Throttle::new("pages", 60.0, 10.0),
            enrolments: Semaphore::new(ENROLMENTS_AT_A_TIME),
            proxies: limits.trusted_proxies.clone(),
        }
    }

    /// Counts a wrong token or key, and makes another refusal of it where too many came from the address. One that is right is
    /// never refused for the wrong ones of others.
    pub fn failed(&self, sender: Peer, refusal: Refusal, now: Timestamp) -> Refusal {
        let detail = "too many wrong tokens or keys came from this address";
        self.failures.check(sender, now, detail).err().unwrap_or(refusal)
    }

    /// Returns who sent a request.
    pub fn sender(&self, headers: &HeaderMap, extensions: &Extensions) -> Peer {
        // Without a socket, in tests, everybody is one.
        let address = extensions.get().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(ip)| *ip);
        self.proxies.sender(address, headers)
    }
}

/// Brings what anybody may see, as long as the address does not ask for it too often: it is large, and costs work.
pub async fn limit_pages(
    State(app): State<App>,
    request: Request<Body>,
    next: Next,
) -> Result<Response, Refused> {
    let sender = app.edge.sender(request.headers(), request.extensions());
    app.edge.pages.check(sender, (app.clock)(), "this address asks for too many pages; slow down")?;
    Ok(next.run(request).await)
}
