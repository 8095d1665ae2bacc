use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_api::{Binary, models::ModelView};
use folkmoot_protocol::Problem;
use folkmoot_rounds::registry;
use folkmoot_storage::ModelRecord;

use crate::http::{App, admin::access::Caller, body, problem::Refused};

/// Uploads an ONNX model. Uploading the same model again changes nothing.
#[utoipa::path(
    post, path = "/v1/admin/models", tag = "models", security(("api_key" = ["operator"])),
    request_body(content = Binary, content_type = "application/octet-stream", description = "The ONNX file"),
    responses(
        (status = 201, body = ModelView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_model(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<ModelView>), Refused> {
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    let bytes_max = app.limits.model_bytes_max;
    let onnx = body::receive(&app, body, "limits.model_bytes_max", bytes_max).await?;
    let record =
        registry::create_model(&app.coordinator, caller.organisation_id, onnx, bytes_max, (app.clock)())
            .await?;
    let ModelRecord { model, model_bytes, schema, .. } = record;
    tracing::info!(%model, model_bytes, by = %caller.who, "model created");
    let view = ModelView { model, model_bytes, parameter_count: schema.parameter_count(), schema };
    Ok((StatusCode::CREATED, Json(view)))
}
