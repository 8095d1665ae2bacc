//! What stands between a socket and a handler: limits that hold before anything that a peer says is believed.

mod activity;
mod address;
mod budget;
mod connections;
mod files;
mod stream;
mod throttle;
mod warning;

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

pub use address::{Peer, Proxies};
pub use budget::Budget;
pub use connections::{Connections, Guarded};
pub use files::raise_open_files;
pub use throttle::Throttle;
pub use warning::warn_of;

use axum::{
    extract::ConnectInfo,
    http::{Extensions, HeaderMap},
};

use super::HttpLimits;

/// Bytes of requests' bodies that may be under way at one time from senders that are not known yet.
const STRANGERS_BYTES_MAX: usize = 32 << 20;
/// Bytes of requests' bodies that may be under way at one time from enrolled clients and holders of a key. Updates are not
/// among them: they go to the disk as they come.
const KNOWN_BYTES_MAX: usize = 256 << 20;

/// The limits that requests share.
pub struct Edge {
    /// Memory for bodies whose senders are not known yet.
    pub strangers: Budget,
    /// Memory for bodies of those who are.
    pub known: Budget,
    /// Wrong enrolment tokens and API keys, by address.
    pub failures: Throttle,
    /// Whose word for the address of a request is taken.
    pub proxies: Arc<Proxies>,
}

impl Edge {
    /// Makes the limits of a coordinator that has just started.
    pub fn new(limits: &HttpLimits) -> Self {
        Self {
            strangers: Budget::new("unauthenticated_bodies", STRANGERS_BYTES_MAX),
            known: Budget::new("bodies", KNOWN_BYTES_MAX),
            failures: Throttle::default(),
            proxies: limits.trusted_proxies.clone(),
        }
    }

    /// Returns who sent a request.
    pub fn sender(&self, headers: &HeaderMap, extensions: &Extensions) -> Peer {
        // Without a socket, in tests, everybody is one.
        let address = extensions.get().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(ip)| *ip);
        self.proxies.sender(address, headers)
    }
}
