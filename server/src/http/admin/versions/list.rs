use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_protocol::{BlobDigest, Count, Problem, RoundId, Timestamp};
use folkmoot_storage::{ModelVersionRecord, ModelVersionRepository};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    http::{
        App,
        admin::{access::Caller, disclosure::Disclosure, read, tasks},
    },
    refusal::Refusal,
};

/// A committed state of a task's model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VersionView {
    /// Its number: 0 is what the task began with.
    pub number: u64,
    /// The round that made it; none for version 0.
    pub round_id: Option<RoundId>,
    /// The digest of its weights.
    pub weights: BlobDigest,
    /// The bytes of its weights.
    pub weights_bytes: u64,
    /// How many examples its round's clients used, all together. Null where a task with privacy runs or has run.
    pub example_count: Option<u64>,
    /// Their mean training loss; none for version 0, and of a task with `privacy`.
    pub mean_loss: Option<f64>,
    /// The share of them that was predicted right; none for version 0, and of a task with `privacy`.
    pub accuracy: Option<f64>,
    /// How far it lies from the version before, in L2.
    pub change_norm: f64,
    /// How many versions old its updates were, in the mean.
    pub mean_staleness: f64,
    /// How many versions old its oldest update was.
    pub staleness_max: u64,
    /// The version whose weights these are, where it is a return to that one.
    pub rolled_back_to: Option<u64>,
    /// When it was released.
    pub created_at: Timestamp,
}

impl VersionView {
    fn of(record: &ModelVersionRecord, disclosure: Disclosure) -> Self {
        let metrics = &record.metrics;
        let mean = |sum: f64| (metrics.example_count > 0).then(|| sum / metrics.example_count as f64);
        Self {
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
        }
    }
}

/// Which versions are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VersionPage {
    /// How many, at most 100; 20 if it is not said.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Those below this number: the last one of the page before.
    #[serde(default, deserialize_with = "Count::read_optional")]
    #[param(maximum = 9007199254740992_u64)]
    before: Option<u64>,
}

/// Lists a task's model versions, newest first.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/versions", tag = "model versions", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task"), VersionPage),
    responses(
        (status = 200, body = [VersionView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn list_versions(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    page: Result<Query<VersionPage>, QueryRejection>,
) -> Result<Json<Vec<VersionView>>, Refusal> {
    let page = read::query(page)?;
    let task = tasks::find(&app, &caller, &id).await?;
    let disclosure = Disclosure::of_task(&app, &task).await?;
    let versions =
        app.coordinator.storage.model_versions(task.id, read::limit(page.limit)?, page.before).await?;
    Ok(Json(versions.iter().map(|version| VersionView::of(version, disclosure)).collect()))
}
