use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::versions::VersionView;
use folkmoot_protocol::{Count, Problem};
use folkmoot_storage::{ModelVersionRecord, ModelVersionRepository};
use serde::Deserialize;

use crate::http::{
    App,
    admin::{access::Caller, called, disclosure::Disclosure, read},
    problem::Refused,
};

fn version_view(record: &ModelVersionRecord, disclosure: Disclosure) -> VersionView {
    let metrics = &record.metrics;
    let mean = |sum: f64| (metrics.example_count > 0).then(|| sum / metrics.example_count as f64);
    VersionView {
        number: record.number,
        round_id: record.round_id,
        weights: record.weights,
        weights_bytes: record.weights_bytes,
        example_count: disclosure.of_clients(metrics.example_count),
        mean_loss: disclosure.of_updates(mean(metrics.loss_sum)).flatten(),
        accuracy: disclosure.of_updates(mean(metrics.correct_count as f64)).flatten(),
        change_norm: record.making.change_norm,
        mean_staleness: record.making.mean_staleness,
        staleness_max: record.making.staleness_max,
        rolled_back_to: record.making.rolled_back_to,
        created_at: record.created_at,
        dropped_at: record.dropped_at,
    }
}

/// The requested page of versions.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VersionPage {
    /// The maximum number of versions: 1 to 100. Default: 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Returns versions before this number. Use the number of the previous page's last version.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[param(maximum = 9007199254740992_u64)]
    before: Option<u64>,
}

/// Lists a task's model versions, newest first.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/versions", tag = "model versions", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id"), VersionPage),
    responses(
        (status = 200, body = [VersionView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_versions(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    page: Result<Query<VersionPage>, QueryRejection>,
) -> Result<Json<Vec<VersionView>>, Refused> {
    let page = read::query(page)?;
    let task = called::task(&app, &caller, &id).await?;
    let disclosure = Disclosure::of_task(&app, &task).await?;
    let versions =
        app.coordinator.storage.model_versions(task.id, read::limit(page.limit)?, page.before).await?;
    Ok(Json(versions.iter().map(|version| version_view(version, disclosure)).collect()))
}
