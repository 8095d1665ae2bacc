use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_api::populations::{CreateRolloutRequest, RolloutView};
use folkmoot_coordinator::rollout::Reports;
use folkmoot_protocol::{ErrorCode, PopulationName, Problem};
use folkmoot_rounds::{refusal::Refusal, registry::check_kept};
use folkmoot_storage::{ModelVersionRepository, RolloutRecord};

use super::{share, view};
use crate::http::{
    App,
    admin::{access::Caller, called, read},
    problem::Refused,
};

/// Rolls a model version out to the devices of a channel, or to a share of them.
#[utoipa::path(
    post, path = "/v1/admin/populations/{population}/rollouts", tag = "populations",
    security(("api_key" = ["operator"])), request_body = CreateRolloutRequest,
    params(("population" = String, Path, description = "The population's name")),
    responses(
        (status = 200, body = RolloutView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_rollout(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(population): Path<String>,
    request: Request<Body>,
) -> Result<Json<RolloutView>, Refused> {
    let population: PopulationName = read::id(&population, ErrorCode::MalformedRequest)?;
    let CreateRolloutRequest { channel, task, version, share: fraction, failures_max } =
        read::json(&app, request).await?;
    let task = called::task(&app, &caller, &task).await?;
    if task.description.population != population {
        let detail = format!(
            "task {} trains the model of population {}; roll it out there",
            task.id, task.description.population
        );
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
    }
    let storage = &app.coordinator.storage;
    let found = match version {
        Some(number) => storage.model_version(task.id, number).await?,
        None => storage.latest_model_version(task.id).await?,
    };
    let unknown = || {
        let detail = format!("task {} has no model version {}", task.id, version.unwrap_or_default());
        Refusal::new(ErrorCode::ModelVersionUnknown, detail)
    };
    let found = found.ok_or_else(unknown)?;
    check_kept(&found)?;
    let rollout = RolloutRecord {
        organisation_id: caller.organisation_id,
        population,
        number: 0,
        channel,
        task_id: task.id,
        version: found.number,
        share: share("share", fraction)?,
        failures_max: share("failures_max", failures_max)?,
        held: None,
        reports: Reports::default(),
        last_failure: None,
        created_at: (app.clock)(),
    };
    let database = storage.database()?;
    let stored = database.create_rollout(&rollout).await?;
    let (database, created) = (database.clone(), stored.clone());
    // Old reports may be many, and nobody waits for this.
    tokio::spawn(async move {
        if let Err(error) = database.forget_old_reports(&created).await {
            tracing::warn!(%error, "could not delete old reports about rollouts; the next rollout repeats it");
        }
    });
    let RolloutRecord { population, number, channel, version, .. } = &stored;
    tracing::info!(%population, number, %channel, task = %task.id, version, by = %caller.who, "a model is rolled out");
    Ok(Json(view(stored)))
}
