use std::path::Path;

use axum::{Extension, Json, body::Body, extract::State, http::Request};
use folkmoot_api::tasks::{CheckTaskRequest, CheckTaskView, CreateTaskRequest, FaultView, TASK_FILE};
use folkmoot_coordinator::task::{Fault, TaskDescription};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::{refusal::Refusal, registry};
use folkmoot_storage::ModelRepository;
use folkmoot_task_file::{self as task_file, PlacedFault, explain};
use serde_json::Value;

use crate::http::{
    App,
    admin::{access::Caller, costly, read},
    problem::Refused,
};

/// The maximum number of faults in a response.
const FAULTS_MAX: usize = 100;

/// Checks a task without creating it. Returns every fault, the task file, and the command that would create it.
#[utoipa::path(
    post, path = "/v1/admin/tasks/check", tag = "tasks", security(("api_key" = ["operator"])),
    request_body = CheckTaskRequest,
    responses(
        (status = 200, body = CheckTaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn check_task(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Json<CheckTaskView>, Refused> {
    let request: CheckTaskRequest = read::json(&app, request).await?;
    let toml = match (&request.toml, &request.description) {
        (Some(toml), None) => toml.clone(),
        (None, Some(description)) => written(description)?,
        _ => {
            let detail = "send exactly one of `description` and `toml`";
            return Err(Refusal::new(ErrorCode::MalformedRequest, detail).into());
        }
    };
    let command = request.command();
    let found = match request.model {
        Some(model) => app.coordinator.storage.model(caller.organisation_id, model).await?,
        None => None,
    };
    let parameters = found.map(|model| model.schema.parameter_count());
    let (toml, read, notes) = costly::in_turn(&app.edge, move || {
        let read = task_file::read(Path::new(TASK_FILE), &toml);
        let trained = |read: &TaskDescription| parameters.filter(|_| read.plan.frozen.is_empty());
        let notes = read.as_ref().map_or_else(|_| vec![], |read| explain::notes(read, trained(read)));
        (toml, read, notes)
    })
    .await?;
    let read = match read {
        Ok(read) => read,
        Err(error) => {
            let faults = error.faults.into_iter().take(FAULTS_MAX).map(placed).collect();
            return Ok(Json(CheckTaskView { faults, notes, description: None, toml, command }));
        }
    };
    let description = serde_json::to_value(&read).map_err(|error| Refusal::internal(&error))?;
    let faults =
        faults_beyond(&app, &caller, &request, read).await?.into_iter().map(FaultView::from).collect();
    Ok(Json(CheckTaskView { faults, notes, description: Some(description), toml, command }))
}

/// Converts a fault and its line number.
fn placed(fault: PlacedFault) -> FaultView {
    let PlacedFault { field, message, remedy, line, .. } = fault;
    FaultView { field, message, remedy, line: Some(line) }
}

/// Lists conflicts of a valid description with the model, the population, and other data on the coordinator.
async fn faults_beyond(
    app: &App,
    caller: &Caller,
    request: &CheckTaskRequest,
    description: TaskDescription,
) -> Result<Vec<Fault>, Refusal> {
    let Some(model) = request.model else { return Ok(Vec::new()) };
    let CheckTaskRequest { evaluation_data, warm_start, activate, .. } = *request;
    let request = CreateTaskRequest { description, model, evaluation_data, warm_start, activate };
    registry::task_faults(&app.coordinator, caller.organisation_id, &request).await
}

/// Serialises a description as a task file.
fn written(description: &Value) -> Result<String, Refusal> {
    let malformed = |error: &dyn ToString| Refusal::new(ErrorCode::MalformedRequest, error.to_string());
    let without_nulls = without_nulls(description);
    let table = toml::Table::try_from(&without_nulls).map_err(|error| malformed(&error))?;
    toml::to_string_pretty(&table).map_err(|error| malformed(&error))
}

/// Removes null values, which a task file cannot express.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(values) => {
            Value::Array(values.iter().filter(|value| !value.is_null()).map(without_nulls).collect())
        }
        other => other.clone(),
    }
}
