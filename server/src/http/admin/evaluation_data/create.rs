use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_protocol::{BlobDigest, ErrorCode, Problem};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    http::{App, admin::access::Caller, body, openapi::Binary},
    refusal::Refusal,
    registry::evaluation_data,
};

/// Examples that were read, checked and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvaluationDataView {
    /// The file's digest, by which a task names it.
    pub evaluation_data: BlobDigest,
    /// How many examples there are.
    pub example_count: u64,
}

/// Keeps examples on which the coordinator evaluates. The same ones again change nothing.
#[utoipa::path(
    post, path = "/v1/admin/evaluation-data", tag = "tasks", security(("api_key" = ["operator"])),
    request_body(
        content = Binary, content_type = "application/octet-stream",
        description = "A safetensors file: `features` float32 [n, …], `labels` u32 [n] or [n, width], or float32 [n, width]"
    ),
    responses(
        (status = 201, body = EvaluationDataView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn create_evaluation_data(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<EvaluationDataView>), Refusal> {
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    let bytes = body::receive(&app, body, "limits.model_bytes_max", app.limits.model_bytes_max).await?;
    let read = bytes.clone();
    let read = tokio::task::spawn_blocking(move || evaluation_data::read(&read)).await;
    let examples = read
        .map_err(|error| Refusal::internal(&error))?
        .map_err(|error| Refusal::new(ErrorCode::MalformedRequest, error.to_string()))?;
    let evaluation_data = app.coordinator.blobs.put(bytes).await?;
    tracing::info!(%evaluation_data, examples = examples.len(), api_key = caller.api_key_id, "examples kept");
    Ok((
        StatusCode::CREATED,
        Json(EvaluationDataView { evaluation_data, example_count: examples.len() as u64 }),
    ))
}
