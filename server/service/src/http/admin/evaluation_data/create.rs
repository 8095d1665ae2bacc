use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_api::{Binary, evaluation_data::EvaluationDataView};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::{refusal::Refusal, registry::evaluation_data};

use crate::http::{App, admin::access::Caller, body, problem::Refused};

/// Uploads examples for central evaluation. Uploading the same examples again changes nothing.
#[utoipa::path(
    post, path = "/v1/admin/evaluation-data", tag = "tasks", security(("api_key" = ["operator"])),
    request_body(
        content = Binary, content_type = "application/octet-stream",
        description = "A safetensors file: `features` float32 [n, …], `labels` u32 [n] or [n, width], or float32 [n, width]"
    ),
    responses(
        (status = 201, body = EvaluationDataView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_evaluation_data(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<EvaluationDataView>), Refused> {
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    let bytes =
        body::receive(&app, body, "the setting `limits.model_bytes_max`", app.limits.model_bytes_max).await?;
    let read = bytes.clone();
    let read = tokio::task::spawn_blocking(move || evaluation_data::read(&read)).await;
    let examples = read
        .map_err(|error| Refusal::internal(&error))?
        .map_err(|error| Refusal::new(ErrorCode::MalformedRequest, error.to_string()))?;
    let evaluation_data = app.coordinator.blobs.put(bytes).await?;
    tracing::info!(%evaluation_data, examples = examples.len(), by = %caller.who, "examples kept");
    Ok((
        StatusCode::CREATED,
        Json(EvaluationDataView { evaluation_data, example_count: examples.len() as u64 }),
    ))
}
