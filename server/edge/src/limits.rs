//! The limits that an operator can set.

use std::{sync::Arc, time::Duration};

use super::Proxies;

/// Limits on incoming HTTP connections and requests.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// The maximum number of open connections.
    pub connections_max: usize,
    /// The maximum number of open connections per IPv4 address or 64-bit IPv6 network. Trusted proxies are exempt.
    pub connections_per_address_max: usize,
    /// The maximum time for the head of a request.
    pub head_timeout: Duration,
    /// The maximum time without a request on a connection. It must exceed the time for which clients keep unused
    /// connections.
    pub idle_timeout: Duration,
    /// The maximum time in which a peer reads none of its answer.
    pub untaken_timeout: Duration,
    /// The proxies whose `x-forwarded-for` header is trusted.
    pub trusted_proxies: Arc<Proxies>,
    /// The maximum time for a control message to arrive.
    pub control_timeout: Duration,
    /// The maximum time without a byte during an upload.
    pub upload_idle_timeout: Duration,
    /// The maximum wait of a long poll.
    pub long_poll_max: Duration,
    /// The maximum size of an ONNX model, in bytes.
    pub model_bytes_max: usize,
    /// The origins that may send cross-origin requests; `*` allows all.
    pub allowed_origins: Vec<String>,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections_max: 20_000,
            connections_per_address_max: 1_000,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            untaken_timeout: Duration::from_secs(30),
            trusted_proxies: Arc::default(),
            control_timeout: Duration::from_secs(15),
            upload_idle_timeout: Duration::from_secs(30),
            long_poll_max: Duration::from_secs(u64::from(folkmoot_protocol::limits::LONG_POLL_SECONDS_MAX)),
            model_bytes_max: 2 << 30,
            allowed_origins: Vec::new(),
        }
    }
}
