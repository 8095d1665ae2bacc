use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_api::{Binary, components::ComponentView};
use folkmoot_protocol::Problem;
use folkmoot_rounds::registry;
use folkmoot_strategy::{COMPONENT_BYTES_MAX, Role};

use crate::http::{App, admin::access::Caller, body, problem::Refused};

/// Uploads a WebAssembly component, which tasks can name as their selection, aggregator or finalizer. Uploading the same component again changes
/// nothing.
#[utoipa::path(
    post, path = "/v1/admin/components", tag = "tasks", security(("api_key" = ["operator"])),
    request_body(
        content = Binary, content_type = "application/octet-stream",
        description = "A component with the interface `folkmoot:strategy@0.1.0`, at most 64 MiB"
    ),
    responses(
        (status = 201, body = ComponentView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_component(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<ComponentView>), Refused> {
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    // One byte more than a component may have, so that the error below names the real limit.
    let limit = app.limits.model_bytes_max.min(COMPONENT_BYTES_MAX + 1);
    let bytes = body::receive(&app, body, "the setting `limits.model_bytes_max`", limit).await?;
    let uploaded = registry::create_component(&app.coordinator, bytes).await?;
    let roles = uploaded.roles.into_iter().map(|role: Role| role.name().to_owned()).collect();
    tracing::info!(component = %uploaded.digest, by = %caller.who, "component kept");
    Ok((StatusCode::CREATED, Json(ComponentView { component: uploaded.digest, roles })))
}
