use axum::{
    Extension,
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{Response, header},
};
use folkmoot_api::Binary;
use folkmoot_engine::onnx::write_data_schema;
use folkmoot_protocol::{Clusters, ErrorCode, Problem, Role};
use folkmoot_rounds::{
    refusal::Refusal,
    registry::{WholeVersion, check_kept},
};
use folkmoot_storage::{PopulationRepository, TaskRecord};
use serde::Deserialize;

use super::find;
use crate::http::{
    App,
    admin::{
        access::{self, Caller},
        called, read,
    },
    problem::Refused,
};

/// The response header with the version's number. A client that requested `latest` learns the number from it.
pub const VERSION_HEADER: &str = "folkmoot-model-version";

/// The cluster whose model is requested.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClusterQuery {
    /// The cluster, counted from 1, of a task with `plan.clusters`. Default: the cluster with the largest share of the
    /// clients.
    #[param(minimum = 1, maximum = 16)]
    cluster: Option<usize>,
}

/// Downloads a model version as ONNX: the task's model with the version's weights. If the task has a table schema, the
/// file's metadata has it too. A population can keep its models from viewers and privacy officers.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/versions/{number}/model", tag = "model versions",
    security(("api_key" = ["viewer"])),
    params(
        ("id" = String, Path, description = "The task's name, its id, or the beginning of its id"),
        ("number" = String, Path, description = "The version's number, or `latest`"),
        ClusterQuery,
    ),
    responses(
        (status = 200, body = Binary, content_type = "application/octet-stream", description = "The ONNX file",
         headers(("folkmoot-model-version" = u64, description = "The version's number"))),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn download_model(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path((id, number)): Path<(String, String)>,
    cluster: Result<Query<ClusterQuery>, QueryRejection>,
) -> Result<Response<Body>, Refused> {
    let number_of_cluster = read::query(cluster)?.cluster;
    let task = called::task(&app, &caller, &id).await?;
    check_reader(&app, &caller, &task).await?;
    let cluster = number_of_cluster.map(|number| index_of(&task, number)).transpose()?;
    let version = find(&app, &task, &number).await?;
    check_kept(&version)?;
    let model = app.coordinator.blobs.get(task.model).await?;
    let weights = app.coordinator.blobs.get(version.weights).await?;
    let (plan, schema) = (task.description.plan.clone(), task.schema.clone());
    let data_schema = task.description.data_schema().cloned();
    let export = move || -> Result<Vec<u8>, Refusal> {
        let WholeVersion { model, weights, .. } =
            WholeVersion::read(&model, &weights, &plan, &schema, cluster)?;
        let onnx = model.export_onnx(&weights).map_err(|error| Refusal::internal(&error))?;
        match &data_schema {
            Some(schema) => write_data_schema(&onnx, schema).map_err(|error| Refusal::internal(&error)),
            None => Ok(onnx),
        }
    };
    let exported = tokio::task::spawn_blocking(export).await;
    let onnx = exported.map_err(|error| Refusal::internal(&error))??;
    let file = format!("attachment; filename=\"{}-{}.onnx\"", task.id, version.number);
    let response = Response::builder()
        .header(header::CONTENT_TYPE, "application/octet-stream")
        .header(header::CONTENT_DISPOSITION, file)
        .header(VERSION_HEADER, version.number)
        .body(Body::from(onnx));
    Ok(response.map_err(|error| Refusal::internal(&error))?)
}

/// Refuses a caller who may only read, if the task's population keeps its models from such roles.
async fn check_reader(app: &App, caller: &Caller, task: &TaskRecord) -> Result<(), Refusal> {
    let name = &task.description.population;
    if access::may(caller.role, Role::Operator) {
        return Ok(());
    }
    let population = app.coordinator.storage.population(caller.organisation_id, name).await?;
    if population.is_some_and(|population| population.viewers_download) {
        return Ok(());
    }
    let detail = format!(
        "the population {name} keeps its models from viewers and privacy officers; ask an admin for the role operator, or to run \
         `folkmoot population set {name} --viewers-download true`"
    );
    Err(Refusal::new(ErrorCode::RoleInsufficient, detail))
}

/// Returns the index of a task's cluster.
fn index_of(task: &TaskRecord, number: usize) -> Result<usize, Refusal> {
    let count = task.description.plan.clusters.as_deref().map_or(0, Clusters::number);
    let index = number.checked_sub(1).filter(|index| *index < count);
    index.ok_or_else(|| {
        let detail = match count {
            0 => format!(
                "there is no cluster {number}: the task has one model, because it has no plan.clusters"
            ),
            count => format!("there is no cluster {number}: the task has the clusters 1 to {count}"),
        };
        Refusal::new(ErrorCode::ResourceUnknown, detail)
    })
}
