//! The HTTP endpoints. A handler only translates: it authenticates the request, reads it within limits, calls one
//! function of the coordinator, and answers.

mod admin;
mod body;
mod console;
mod device;
mod draining;
mod health;
pub mod openapi;
mod pages;
pub mod problem;
mod readiness;
mod signed;

use std::sync::Arc;

pub(crate) use admin::api_keys::draw_key;
pub(crate) use admin::tasks::pause_view::pause_view;
pub use admin::{Endpoint, demo::FirstRun, endpoints};
use axum::{Router, extract::DefaultBodyLimit, middleware};
use folkmoot_edge::{Edge, HttpLimits, Names, cors, identify, request_span};
use folkmoot_notification::Board;
use folkmoot_protocol::Timestamp;
use folkmoot_rounds::{clock::Clock, coordinator::Coordinator, device::Authenticator, drivers::DriverHealth};
use folkmoot_sign_in::Providers;
pub use readiness::EARLIEST;

use crate::stage::Stage;
use tower_http::{catch_panic::CatchPanicLayer, trace::TraceLayer};

/// The state that every handler can access.
#[derive(Clone)]
pub struct App {
    /// The coordinator.
    pub coordinator: Arc<Coordinator>,
    /// The names that requests may be signed for.
    pub names: Arc<Names>,
    /// Verifies request signatures.
    pub authenticator: Arc<Authenticator>,
    /// The source of the current time.
    pub clock: Clock,
    /// Limits on connections and requests.
    pub limits: Arc<HttpLimits>,
    /// The rate limits and memory budgets that all requests share.
    pub edge: Arc<Edge>,
    /// Renders the metrics, if they are recorded.
    pub metrics: Option<metrics_exporter_prometheus::PrometheusHandle>,
    /// When this process started.
    pub started_at: Timestamp,
    /// The web pages that listen for changes of tasks.
    pub listeners: Arc<admin::events::Listeners>,
    /// The sessions that are being renewed.
    pub renewals: Arc<admin::renewal::Renewals>,
    /// The demo for a coordinator without tasks.
    pub first_run: Option<Arc<dyn FirstRun>>,
    /// The identity providers that people sign in with.
    pub providers: Arc<Providers>,
    /// The channels for notices, with the deliveries of this process.
    pub notifications: Arc<Board>,
    /// The health of the drivers.
    pub drivers: Arc<DriverHealth>,
    /// The stage of the process: readiness ends when it drains, and long polls end when it closes.
    pub stage: tokio::sync::watch::Receiver<Stage>,
}

/// Creates the router of all endpoints.
pub fn router(app: App) -> Router {
    let pages = openapi::routes()
        .merge(console::routes())
        .layer(middleware::from_fn_with_state(app.clone(), pages::limit));
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
        .layer(middleware::from_fn_with_state(app.clone(), draining::close_connections))
        .layer(TraceLayer::new_for_http().make_span_with(request_span))
        .layer(middleware::from_fn_with_state(app.edge.request_ids.clone(), identify))
        .with_state(app)
}
