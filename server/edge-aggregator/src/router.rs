use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    response::Response,
    routing::{any, get},
};
use folkmoot_combine::refusal::Refusal;
use folkmoot_edge::cors;
use folkmoot_protocol::ErrorCode;

use crate::{answer::Refused, app::App, pass::pass, take};

const NOT_HERE: &str = "an edge aggregator has the endpoints of clients only; use the coordinator's address";

/// Creates the router: the endpoints of clients, and those of aggregators behind this one.
pub fn router(app: App) -> Router {
    let origins = app.limits.allowed_origins.clone();
    let routes = Router::new()
        .route("/v1/assignments/{id}/update", any(take::update))
        .route("/v1/assignments/{id}/{step}", any(pass))
        .route("/v1/enrol", any(pass))
        .route("/v1/check-in", any(pass))
        .route("/v1/blobs/{digest}", any(pass))
        .route("/v1/model", any(pass))
        .route("/v1/model/report", any(pass))
        .route("/v1/admin/aggregator/{*rest}", any(pass))
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(ready))
        .fallback(async || Refused::from(Refusal::new(ErrorCode::EndpointUnknown, NOT_HERE)));
    cors::allow(routes, &origins).layer(DefaultBodyLimit::disable()).with_state(app)
}

/// Answers that the coordinator is ready, and serves this aggregator.
async fn ready(State(app): State<App>, request: Request) -> Result<Response, Refused> {
    match app.upstream.refusal() {
        Some(reason) => Err(Refusal::new(ErrorCode::Overloaded, reason).into()),
        None => pass(State(app), request).await,
    }
}
