use axum::{Extension, Json, extract::State};
use folkmoot_protocol::{BlobDigest, Problem, Timestamp};
use folkmoot_storage::ModelRepository;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    http::{
        App,
        admin::{access::Caller, read::PAGE_ROWS_MAX},
    },
    refusal::Refusal,
};

/// A model in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelSummary {
    /// The ONNX file's digest, by which tasks name it.
    pub model: BlobDigest,
    /// The ONNX file's bytes.
    pub model_bytes: u64,
    /// How many values are trained.
    pub parameter_count: u64,
    /// When it was brought.
    pub created_at: Timestamp,
}

/// Lists the newest 100 models, newest first.
#[utoipa::path(
    get, path = "/v1/admin/models", tag = "models", security(("api_key" = ["viewer"])),
    responses(
        (status = 200, body = [ModelSummary]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn list_models(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<ModelSummary>>, Refusal> {
    let models = app.coordinator.storage.models(caller.organisation_id, PAGE_ROWS_MAX).await?;
    let summary = |record: folkmoot_storage::ModelRecord| ModelSummary {
        model: record.model,
        model_bytes: record.model_bytes,
        parameter_count: record.schema.parameter_count(),
        created_at: record.created_at,
    };
    Ok(Json(models.into_iter().map(summary).collect()))
}
