//! The endpoints. A handler translates: it authenticates, reads with limits, calls one function, and answers.

mod admin;
mod body;
mod console;
pub mod cors;
mod device;
pub mod edge;
mod health;
pub mod openapi;
pub mod problem;
mod readiness;
mod serve;
mod signed;
pub mod tls;

use std::{sync::Arc, time::Duration};

pub use admin::demo::FirstRun;
use axum::{Router, extract::DefaultBodyLimit, middleware};
use folkmoot_protocol::Timestamp;
use folkmoot_rounds::{clock::Clock, coordinator::Coordinator, device::Authenticator, drivers::DriverHealth};
pub use serve::{Listener, ServeError, serve};
use tower_http::{catch_panic::CatchPanicLayer, trace::TraceLayer};

/// What every handler can reach.
#[derive(Clone)]
pub struct App {
    /// The coordinator.
    pub coordinator: Arc<Coordinator>,
    /// Believes signed requests.
    pub authenticator: Arc<Authenticator>,
    /// The time.
    pub clock: Clock,
    /// What the edge lets in.
    pub limits: Arc<HttpLimits>,
    /// The limits that requests share.
    pub edge: Arc<edge::Edge>,
    /// Renders the metrics, where they are recorded.
    pub metrics: Option<metrics_exporter_prometheus::PrometheusHandle>,
    /// When this process started.
    pub started_at: Timestamp,
    /// The pages that hear what changes.
    pub listeners: Arc<admin::events::Listeners>,
    /// What can be seen where nothing is yet.
    pub first_run: Option<Arc<dyn FirstRun>>,
    /// How the drivers are.
    pub drivers: Arc<DriverHealth>,
    /// Says when the process is going down: long polls end early, readiness ends at once.
    pub closing: tokio::sync::watch::Receiver<bool>,
}

/// What the edge lets in.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Open connections, at most.
    pub connections_max: usize,
    /// Open connections from one IPv4 address, or one network of 64 bits of IPv6, at most. Trusted proxies have no such limit.
    pub connections_per_address_max: usize,
    /// How long a connection may take for the head of a request.
    pub head_timeout: Duration,
    /// How long a connection may be without a request. It is above what clients keep an unused one for.
    pub idle_timeout: Duration,
    /// How long a peer may take none of the bytes that it asked for.
    pub untaken_timeout: Duration,
    /// The proxies whose word is taken for the address of a request.
    pub trusted_proxies: Arc<edge::Proxies>,
    /// How long a control message may take to arrive.
    pub control_timeout: Duration,
    /// How long an upload may go without a byte.
    pub upload_idle_timeout: Duration,
    /// How long a check-in may wait, at most.
    pub long_poll_max: Duration,
    /// Bytes of an ONNX model, at most.
    pub model_bytes_max: usize,
    /// The origins whose pages may be clients; `*` for all.
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

/// Makes the router of every endpoint.
pub fn router(app: App) -> Router {
    let pages = openapi::routes()
        .merge(console::routes())
        .layer(middleware::from_fn_with_state(app.clone(), edge::limit_pages));
    let routes = Router::new()
        .nest("/v1", device::routes())
        .nest("/v1/admin", admin::routes(&app))
        .merge(health::routes())
        .merge(pages)
        .fallback(problem::endpoint_unknown)
        .method_not_allowed_fallback(problem::method_not_allowed);
    cors::allow(routes, &app.limits.allowed_origins)
        // Handlers read their own bodies, each with its own limit.
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(TraceLayer::new_for_http())
        .with_state(app)
}
