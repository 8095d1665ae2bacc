use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_api::endorsements::EndorsementView;
use folkmoot_protocol::{Problem, endorsement::Endorsement};
use folkmoot_rounds::registry;

use crate::http::{
    App,
    admin::{access::Caller, called, read},
    problem::Refused,
};

/// Returns the model and the plans that a task gives to clients, and the endorsement in force.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/endorsement", tag = "tasks", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id")),
    responses(
        (status = 200, body = EndorsementView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_endorsement(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<EndorsementView>, Refused> {
    let task = called::task(&app, &caller, &id).await?;
    Ok(Json(registry::endorsement_of(&app.coordinator, &task).await?))
}

/// Publishes an endorsement of a task. Its number must be above that of the endorsement in force.
///
/// Clients with pinned endorsement keys take part only in tasks that one of these keys has endorsed. Publishing needs no
/// trust in the coordinator: clients verify the signature themselves.
#[utoipa::path(
    post, path = "/v1/admin/tasks/{id}/endorsement", tag = "tasks", security(("api_key" = ["operator"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id")), request_body = Endorsement,
    responses(
        (status = 200, body = EndorsementView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn publish_endorsement(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<Json<EndorsementView>, Refused> {
    let endorsement: Endorsement = read::json(&app, request).await?;
    let task = called::task(&app, &caller, &id).await?;
    registry::endorse(&app.coordinator, &task, &endorsement, (app.clock)()).await?;
    tracing::info!(task = %task.id, by = %caller.who, "published an endorsement");
    Ok(Json(registry::endorsement_of(&app.coordinator, &task).await?))
}
