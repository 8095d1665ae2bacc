//! The HTTP endpoints. A handler only translates: it authenticates the request, reads it within limits, calls one
//! function of the coordinator, and answers.

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

/// The state that every handler can access.
#[derive(Clone)]
pub struct App {
    /// The coordinator.
    pub coordinator: Arc<Coordinator>,
    /// Verifies request signatures.
    pub authenticator: Arc<Authenticator>,
    /// The source of the current time.
    pub clock: Clock,
    /// Limits on connections and requests.
    pub limits: Arc<HttpLimits>,
    /// The rate limits and memory budgets that all requests share.
    pub edge: Arc<edge::Edge>,
    /// Renders the metrics, if they are recorded.
    pub metrics: Option<metrics_exporter_prometheus::PrometheusHandle>,
    /// When this process started.
    pub started_at: Timestamp,
    /// The web pages that listen for changes of tasks.
    pub listeners: Arc<admin::events::Listeners>,
    /// The demo for a coordinator without tasks.
    pub first_run: Option<Arc<dyn FirstRun>>,
    /// The health of the drivers.
    pub drivers: Arc<DriverHealth>,
    /// Signals that the process is shutting down: long polls end early, and readiness ends at once.
    pub closing: tokio::sync::watch::Receiver<bool>,
}

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
    pub trusted_proxies: Arc<edge::Proxies>,
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

/// Creates the router of all endpoints.
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
