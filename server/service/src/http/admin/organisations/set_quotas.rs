use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_api::usage::QuotasView;
use folkmoot_protocol::Problem;

use crate::http::{
    App,
    admin::{access::Caller, called, read},
    problem::Refused,
};

/// Replaces an organisation's quotas. They take effect at once in this process, and within ten seconds in others.
#[utoipa::path(
    post, path = "/v1/admin/organisations/{id}/quotas", tag = "organisations", security(("api_key" = ["system"])),
    params(("id" = String, Path, description = "The organisation's name, its id, or the beginning of its id")),
    request_body = QuotasView,
    responses(
        (status = 200, body = QuotasView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn set_quotas(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(text): Path<String>,
    request: Request<Body>,
) -> Result<Json<QuotasView>, Refused> {
    let id = called::organisation_id(&app, &text).await?;
    let quotas: QuotasView = read::json(&app, request).await?;
    let storage = &app.coordinator.storage;
    let set = storage.database()?.set_quotas(id, &quotas.into()).await;
    set.map_err(read::missing("organisation", &text))?;
    app.coordinator.tenants.settle(storage, (app.clock)()).await?;
    tracing::info!(organisation = %id, by = %caller.who, "quotas set");
    Ok(Json(quotas))
}
