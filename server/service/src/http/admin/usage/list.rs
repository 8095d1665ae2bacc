use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use folkmoot_api::usage::DayUsageView;
use folkmoot_protocol::Problem;

use super::days::{Days, usage};
use crate::http::{App, problem::Refused};

/// Lists the daily usage of every organisation's clients, oldest first, for bills.
#[utoipa::path(
    get, path = "/v1/admin/organisations/usage", tag = "organisations", security(("api_key" = ["system"])), params(Days),
    responses(
        (status = 200, body = [DayUsageView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_usage(
    State(app): State<App>,
    days: Result<Query<Days>, QueryRejection>,
) -> Result<Json<Vec<DayUsageView>>, Refused> {
    Ok(Json(usage(&app, None, days).await?))
}
