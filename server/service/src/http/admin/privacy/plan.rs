use axum::{Extension, Json, body::Body, extract::State, http::Request};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::{
    privacy::planner::{PlanRequest, planned},
    refusal::Refusal,
};
use serde_json::Value;

use crate::http::{
    App,
    admin::{access::Caller, costly, read},
    problem::Refused,
};

/// Computes the noise that a privacy budget requires, and whether the model can learn despite it. Same as `folkmoot
/// privacy plan --json`.
#[utoipa::path(
    post, path = "/v1/admin/privacy/plan", tag = "privacy", security(("api_key" = ["viewer"])),
    request_body = PlanRequest,
    responses(
        (status = 200, body = Object, description = "`intention`, `forecast` and `adaptive_update_multiplier`"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn plan(
    State(app): State<App>,
    Extension(_): Extension<Caller>,
    request: Request<Body>,
) -> Result<Json<Value>, Refused> {
    let request: PlanRequest = read::json(&app, request).await?;
    let planned = costly::in_turn(&app.edge, move || planned(&request)).await?;
    let planned = planned.map_err(|error| Refusal::new(ErrorCode::MalformedRequest, error.to_string()))?;
    Ok(Json(serde_json::to_value(&planned).map_err(|error| Refusal::internal(&error))?))
}
