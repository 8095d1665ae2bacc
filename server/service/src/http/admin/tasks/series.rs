use std::collections::{BTreeMap, BTreeSet};

use axum::{
    Extension, Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use folkmoot_api::{
    evaluations::EvaluationView,
    tasks::{SeriesPoint, SeriesView},
};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{ModelVersionRecord, ModelVersionRepository, VersionTraffic};
use serde::Deserialize;

use crate::http::{
    App,
    admin::{access::Caller, called, disclosure::Disclosure, evaluations::list::evaluations, read},
    problem::Refused,
};

/// The default number of versions in a response.
const POINTS: u64 = 600;
const POINTS_MAX: u64 = 5_000;

/// The requested number of versions.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SeriesQuery {
    /// The approximate number of versions: 1 to 5,000. Default: 600.
    #[param(minimum = 1, maximum = 5000)]
    points: Option<u64>,
}

/// Returns a task's progress for charts. Only some versions are included, so the response stays small even after
/// 100,000 rounds.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/series", tag = "model versions", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id"), SeriesQuery),
    responses(
        (status = 200, body = SeriesView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_series(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    query: Result<Query<SeriesQuery>, QueryRejection>,
) -> Result<Json<SeriesView>, Refused> {
    let wanted = read::query(query)?.points.unwrap_or(POINTS);
    if !(1..=POINTS_MAX).contains(&wanted) {
        let detail = format!("points is {wanted}; it must be 1 to {POINTS_MAX}");
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    let task = called::task(&app, &caller, &id).await?;
    let storage = &app.coordinator.storage;
    let newest = storage.latest_model_version(task.id).await?.map_or(0, |version| version.number);
    let stride = (newest + 1).div_ceil(wanted).max(1);
    let versions = storage.every_version(task.id, stride).await?;
    let traffic = storage.database()?.version_traffic(task.id).await?;
    let disclosure = Disclosure::of_task(&app, &task).await?;
    let tells_counts = !task.description.hides_counts();
    Ok(Json(SeriesView {
        stride,
        points: points(&versions, &traffic, disclosure, tells_counts),
        evaluations: of_shown(evaluations(&app, &task, disclosure).await?, &versions),
        withheld: disclosure.withheld(),
    }))
}

fn of_shown(mut evaluations: Vec<EvaluationView>, versions: &[ModelVersionRecord]) -> Vec<EvaluationView> {
    let shown: BTreeSet<u64> = versions.iter().map(|version| version.number).collect();
    evaluations.retain(|one| one.is_best || shown.contains(&one.version));
    evaluations
}

fn points(
    versions: &[ModelVersionRecord],
    traffic: &[VersionTraffic],
    disclosure: Disclosure,
    tells_counts: bool,
) -> Vec<SeriesPoint> {
    let mut sum = 0u64;
    let mut up_to = |one: &VersionTraffic| {
        sum = sum.saturating_add(one.upload_bytes);
        (one.version, (*one, sum))
    };
    let traffic: BTreeMap<u64, (VersionTraffic, u64)> = traffic.iter().map(&mut up_to).collect();
    let point = |record: &ModelVersionRecord| {
        let of_version = traffic.get(&record.number);
        let (metrics, making) = (&record.metrics, &record.making);
        let mean = |sum: f64| (metrics.example_count > 0).then(|| sum / metrics.example_count as f64);
        SeriesPoint {
            version: record.number,
            round_number: of_version.and_then(|(one, _)| one.round_number),
            created_at: record.created_at,
            clients: of_version
                .filter(|(one, _)| one.round_number.is_some() && tells_counts)
                .map(|(one, _)| one.updates),
            examples: disclosure.of_clients(metrics.example_count),
            loss: disclosure.of_updates(mean(metrics.loss_sum)).flatten(),
            accuracy: disclosure.of_updates(mean(metrics.correct_count as f64)).flatten(),
            mean_staleness: making.mean_staleness,
            staleness_max: making.staleness_max,
            change_norm: making.change_norm,
            rolled_back_to: making.rolled_back_to,
            upload_bytes: of_version.and_then(|(_, bytes)| disclosure.of_updates(*bytes)),
        }
    };
    versions.iter().map(point).collect()
}
