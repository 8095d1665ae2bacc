use std::path::Path;

use axum::{Extension, Json, body::Body, extract::State, http::Request};
use folkmoot_coordinator::task::{Fault, TaskDescription};
use folkmoot_protocol::{BlobDigest, ErrorCode, Problem};
use folkmoot_storage::WarmStart;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    http::{
        App,
        admin::{access::Caller, costly, read},
    },
    refusal::Refusal,
    registry::{self, CreateTaskRequest},
    task_file::{self, PlacedFault},
};

/// The file's name in faults and in the command.
const FILE: &str = "task.toml";

/// Faults of one file that are listed, at most.
const FAULTS_MAX: usize = 100;

/// A task that might be made: as JSON, which may be unfinished, or as the text of a task's file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckTaskRequest {
    /// What it is, in the shape of a task's file.
    #[schema(value_type = Option<Object>)]
    pub description: Option<Value>,
    /// The same as the text of a task's file, in place of `description`.
    pub toml: Option<String>,
    /// The model that it trains, which was brought before; without it the task is checked by itself.
    pub model: Option<BlobDigest>,
    /// The operator's own examples for `evaluation.central`, which were brought before.
    pub evaluation_data: Option<BlobDigest>,
    /// The task and version with whose weights it begins.
    #[schema(value_type = Option<Object>)]
    pub warm_start: Option<WarmStart>,
    /// Start it at once.
    pub activate: bool,
}

/// What would come of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckTaskView {
    /// Everything that is wrong; nothing if it can be made.
    pub faults: Vec<FaultView>,
    /// The description as it was read, defaults left out; none if it cannot be read.
    #[schema(value_type = Option<Object>)]
    pub description: Option<Value>,
    /// The task's file.
    pub toml: String,
    /// The command that makes the same task of that file.
    pub command: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FaultView {
    /// The key's path, `scheduling.report_goal`; empty where no key is concerned.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub remedy: String,
    /// The line of the file, from 1, where it has a place there.
    pub line: Option<usize>,
}

impl From<PlacedFault> for FaultView {
    fn from(fault: PlacedFault) -> Self {
        let PlacedFault { field, message, remedy, line, .. } = fault;
        Self { field, message, remedy, line: Some(line) }
    }
}

impl From<Fault> for FaultView {
    fn from(fault: Fault) -> Self {
        Self { field: fault.field, message: fault.message, remedy: fault.remedy, line: None }
    }
}

/// Lists every fault of a task that might be made, with its file and command. Nothing is made.
#[utoipa::path(
    post, path = "/v1/admin/tasks/check", tag = "tasks", security(("api_key" = ["operator"])),
    request_body = CheckTaskRequest,
    responses(
        (status = 200, body = CheckTaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn check_task(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Json<CheckTaskView>, Refusal> {
    let request: CheckTaskRequest = read::json(&app, request).await?;
    let toml = match (&request.toml, &request.description) {
        (Some(toml), None) => toml.clone(),
        (None, Some(description)) => written(description)?,
        _ => {
            let detail = "send either `description` or `toml`";
            return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
        }
    };
    let command = command(&request);
    let (toml, read) = costly::in_turn(move || {
        let read = task_file::read(Path::new(FILE), &toml);
        (toml, read)
    })
    .await?;
    let read = match read {
        Ok(read) => read,
        Err(error) => {
            let faults = error.faults.into_iter().take(FAULTS_MAX).map(FaultView::from).collect();
            return Ok(Json(CheckTaskView { faults, description: None, toml, command }));
        }
    };
    let description = serde_json::to_value(&read).map_err(|error| Refusal::internal(&error))?;
    let faults = faults_beyond(&app, &caller, &request, read).await?;
    let faults = faults.into_iter().map(FaultView::from).collect();
    Ok(Json(CheckTaskView { faults, description: Some(description), toml, command }))
}

/// Lists what is wrong with a description against all else that there is.
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

/// Writes a description as a task's file.
fn written(description: &Value) -> Result<String, Refusal> {
    let malformed = |error: &dyn ToString| Refusal::new(ErrorCode::MalformedRequest, error.to_string());
    let without_nulls = without_nulls(description);
    let table = toml::Table::try_from(&without_nulls).map_err(|error| malformed(&error))?;
    toml::to_string_pretty(&table).map_err(|error| malformed(&error))
}

/// Leaves out what is null: a task's file has no word for it.
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

/// Writes the command that makes the task of its file.
pub(crate) fn command(request: &CheckTaskRequest) -> String {
    let mut words = vec![format!("folkmoot task create {FILE} --model model.onnx")];
    if request.evaluation_data.is_some() {
        words.push("--evaluation-data examples.csv".into());
    }
    if let Some(WarmStart { task_id, version }) = request.warm_start {
        words.push(format!("--warm-start {task_id}@{version}"));
    }
    if request.activate {
        words.push("--activate".into());
    }
    words.join(" ")
}
