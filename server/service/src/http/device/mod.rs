//! The device endpoints.

mod abort;
mod ask;
mod check_in;
mod enrol;
mod get_blob;
mod model;
mod report;
mod secure;
#[cfg(test)]
mod tests;
mod upload_update;
mod wait;

use axum::{
    Router,
    routing::{get, post},
};

use super::App;

/// Returns the routes below `/v1`.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/enrol", post(enrol::enrol))
        .route("/check-in", post(check_in::check_in))
        .route("/blobs/{digest}", get(get_blob::get_blob))
        .route("/model", get(model::get_model))
        .route("/model/report", post(model::report_model))
        .route(
            "/assignments/{id}/update",
            get(upload_update::upload_status).put(upload_update::upload_update),
        )
        .route("/assignments/{id}/ask", get(ask::ask))
        .route("/assignments/{id}/secure", get(secure::progress).post(secure::send))
        .route("/assignments/{id}/report", post(report::report))
        .route("/assignments/{id}/abort", post(abort::abort))
}
