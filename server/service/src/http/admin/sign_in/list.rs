use axum::{Json, extract::State};
use folkmoot_api::session::ProvidersView;
use folkmoot_protocol::Problem;

use crate::http::App;

/// Lists the identity providers, for the console's page to sign in. Needs no key.
#[utoipa::path(
    get, path = "/v1/admin/sign-in", tag = "session",
    responses(
        (status = 200, body = ProvidersView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_providers(State(app): State<App>) -> Json<ProvidersView> {
    Json(ProvidersView { providers: app.providers.names().map(str::to_owned).collect() })
}
