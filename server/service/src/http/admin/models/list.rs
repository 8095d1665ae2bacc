use axum::{Extension, Json, extract::State};
use folkmoot_api::models::ModelSummary;
use folkmoot_protocol::Problem;
use folkmoot_storage::ModelRepository;

use crate::http::{
    App,
    admin::{access::Caller, read::PAGE_ROWS_MAX},
    problem::Refused,
};

/// Lists the newest 100 models, newest first.
#[utoipa::path(
    get, path = "/v1/admin/models", tag = "models", security(("api_key" = ["viewer"])),
    responses(
        (status = 200, body = [ModelSummary]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_models(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<ModelSummary>>, Refused> {
    let models = app.coordinator.storage.models(caller.organisation_id, PAGE_ROWS_MAX).await?;
    let summary = |record: folkmoot_storage::ModelRecord| ModelSummary {
        model: record.model,
        name: record.name,
        model_bytes: record.model_bytes,
        parameter_count: record.schema.parameter_count(),
        created_at: record.created_at,
    };
    Ok(Json(models.into_iter().map(summary).collect()))
}
