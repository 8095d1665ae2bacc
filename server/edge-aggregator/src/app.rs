use std::sync::Arc;

use folkmoot_combine::ingest::Ingest;
use folkmoot_edge::HttpLimits;
use reqwest::Url;
use tokio::sync::watch;

use crate::upstream::Upstream;

/// The state of all handlers.
#[derive(Clone)]
pub struct App {
    /// The updates.
    pub ingest: Arc<Ingest>,
    /// The coordinator, for the aggregator's own requests.
    pub upstream: Arc<Upstream>,
    /// The coordinator, for requests that are passed on.
    pub http: reqwest::Client,
    /// The coordinator's address.
    pub base: Url,
    /// The limits on connections and requests.
    pub limits: Arc<HttpLimits>,
    /// True when the aggregator stops.
    pub stops: watch::Receiver<bool>,
}
