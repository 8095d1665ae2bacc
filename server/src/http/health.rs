use axum::{Router, extract::State, http::header, response::IntoResponse, routing::get};
use folkmoot_protocol::ErrorCode;
use folkmoot_storage::TaskRepository;

use super::App;
use crate::refusal::Refusal;

/// Returns the routes that need no key.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
}

/// `GET /healthz`: the process runs.
async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the process can do its work: the database answers and it is not going down.
async fn readyz(State(app): State<App>) -> Result<&'static str, Refusal> {
    if *app.closing.borrow() {
        return Err(Refusal::new(ErrorCode::Overloaded, "the coordinator is going down"));
    }
    let unavailable =
        |error| Refusal::new(ErrorCode::Overloaded, format!("the database does not answer: {error}"));
    app.coordinator.storage.tasks_to_drive().await.map_err(unavailable)?;
    Ok("ready\n")
}

/// `GET /metrics`: Prometheus's text format.
async fn metrics(State(app): State<App>) -> impl IntoResponse {
    metrics::gauge!("folkmoot_waiting_check_ins").set(app.coordinator.waiting_count() as f64);
    let text = app.metrics.map(|handle| handle.render()).unwrap_or_default();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
