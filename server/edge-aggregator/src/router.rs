use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{any, get},
};

use crate::{app::App, pass::pass, take};

/// Creates the router: the endpoints of clients, and those of aggregators behind this one.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/v1/assignments/{id}/update", any(take::update))
        .route("/v1/assignments/{id}/{step}", any(pass))
        .route("/v1/enrol", any(pass))
        .route("/v1/check-in", any(pass))
        .route("/v1/blobs/{digest}", any(pass))
        .route("/v1/model", any(pass))
        .route("/v1/model/report", any(pass))
        .route("/v1/admin/aggregator/{*rest}", any(pass))
        .route("/healthz", get(async || "ok"))
        .route("/readyz", any(pass))
        .layer(DefaultBodyLimit::disable())
        .with_state(app)
}
