use axum::{
    Extension, Json,
    body::Body,
    extract::{Query, State, rejection::QueryRejection},
    http::{Request, StatusCode},
};
use folkmoot_api::{Binary, models::ModelView};
use folkmoot_protocol::{DisplayName, Problem};
use folkmoot_rounds::registry;
use folkmoot_storage::ModelRecord;
use serde::Deserialize;

use crate::http::{
    App,
    admin::{access::Caller, read},
    body,
    problem::Refused,
};

/// The query parameters of an upload.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ModelQuery {
    /// A display name, 1 to 128 bytes without control characters. Without it, an earlier name of the model stays.
    #[param(value_type = Option<String>, min_length = 1, max_length = 128)]
    name: Option<DisplayName>,
}

/// Uploads an ONNX model. Uploading the same model again changes at most its name.
#[utoipa::path(
    post, path = "/v1/admin/models", tag = "models", security(("api_key" = ["operator"])), params(ModelQuery),
    request_body(content = Binary, content_type = "application/octet-stream", description = "The ONNX file"),
    responses(
        (status = 201, body = ModelView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_model(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    query: Result<Query<ModelQuery>, QueryRejection>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<ModelView>), Refused> {
    let name = read::query(query)?.name.map(String::from);
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    let bytes_max = app.limits.model_bytes_max;
    let onnx = body::receive(&app, body, "the setting `limits.model_bytes_max`", bytes_max).await?;
    let (organisation, now) = (caller.organisation_id, (app.clock)());
    let record =
        registry::create_named_model(&app.coordinator, organisation, name, onnx, bytes_max, now).await?;
    let ModelRecord { model, model_bytes, schema, .. } = record;
    tracing::info!(%model, model_bytes, by = %caller.who, "model created");
    let view = ModelView { model, model_bytes, parameter_count: schema.parameter_count(), schema };
    Ok((StatusCode::CREATED, Json(view)))
}
