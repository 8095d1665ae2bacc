use axum::{
    Extension, Json,
    extract::{Query, State, rejection::QueryRejection},
};
use folkmoot_api::usage::UsageView;
use folkmoot_protocol::Problem;

use super::days::{Days, usage};
use crate::http::{App, admin::access::Caller, problem::Refused};

/// Returns the organisation's quotas, its current size, and the usage of its clients.
#[utoipa::path(
    get, path = "/v1/admin/usage", tag = "usage", security(("api_key" = ["viewer"])), params(Days),
    responses(
        (status = 200, body = UsageView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_usage(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    days: Result<Query<Days>, QueryRejection>,
) -> Result<Json<UsageView>, Refused> {
    let days = usage(&app, Some(caller.organisation_id), days).await?;
    let database = app.coordinator.storage.database()?;
    let quotas = database.quotas(caller.organisation_id).await?.into();
    let held = database.holdings(caller.organisation_id).await?;
    Ok(Json(UsageView {
        quotas,
        clients: held.clients,
        tasks: held.tasks,
        stored_bytes: held.stored_bytes,
        days,
    }))
}
