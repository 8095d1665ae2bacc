use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_protocol::{BlobDigest, Problem, TensorSchema};
use folkmoot_storage::ModelRecord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    http::{App, admin::access::Caller, body, openapi::Binary},
    refusal::Refusal,
    registry,
};

/// A model that was read, checked and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelView {
    /// The ONNX file's digest, by which tasks name it.
    pub model: BlobDigest,
    /// The ONNX file's bytes.
    pub model_bytes: u64,
    /// How many values are trained.
    pub parameter_count: u64,
    /// The trainable tensors.
    pub schema: TensorSchema,
}

/// Keeps an ONNX model. The same one again changes nothing.
#[utoipa::path(
    post, path = "/v1/admin/models", tag = "models", security(("api_key" = ["operator"])),
    request_body(content = Binary, content_type = "application/octet-stream", description = "The ONNX file"),
    responses(
        (status = 201, body = ModelView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn create_model(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<ModelView>), Refusal> {
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    let bytes_max = app.limits.model_bytes_max;
    let onnx = body::receive(&app, body, "limits.model_bytes_max", bytes_max).await?;
    let record =
        registry::create_model(&app.coordinator, caller.organisation_id, onnx, bytes_max, (app.clock)())
            .await?;
    let ModelRecord { model, model_bytes, schema, .. } = record;
    tracing::info!(%model, model_bytes, api_key = caller.api_key_id, "model created");
    let view = ModelView { model, model_bytes, parameter_count: schema.parameter_count(), schema };
    Ok((StatusCode::CREATED, Json(view)))
}
