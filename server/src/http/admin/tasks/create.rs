use axum::{Extension, Json, body::Body, extract::State, http::Request, http::StatusCode};
use folkmoot_coordinator::task::{Fault, TaskDescription, TaskInput, TaskState};
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_protocol::{BlobDigest, Plan, Problem, TaskId, Timestamp, update::UpdateMetrics};
use folkmoot_storage::{
    ModelRecord, ModelRepository, ModelVersionRecord, PopulationRepository, TaskRecord, TaskRepository,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    fit,
    view::{TaskView, view},
};
use crate::{
    coordinator::Coordinator,
    http::{
        App,
        admin::{access::Caller, read},
    },
    refusal::Refusal,
};

/// A task to be made.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTaskRequest {
    /// What it is.
    #[schema(value_type = Object)]
    pub description: TaskDescription,
    /// The model that it trains, which was brought before.
    pub model: BlobDigest,
    /// Start it at once.
    #[serde(default)]
    pub activate: bool,
}

/// Makes a task and its model version 0.
#[utoipa::path(
    post, path = "/v1/admin/tasks", tag = "tasks", security(("api_key" = ["operator"])),
    request_body = CreateTaskRequest,
    responses(
        (status = 201, body = TaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn create_task(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<TaskView>), Refusal> {
    let request: CreateTaskRequest = read::json(&app, request).await?;
    let (coordinator, now) = (&app.coordinator, (app.clock)());
    let model = check(coordinator, &caller, &request).await?;
    let state = if request.activate { TaskState::Draft.step(TaskInput::Activate)? } else { TaskState::Draft };
    let plan = plan_of(&request.description, &model)?;
    let plan_bytes = plan.len() as u64;
    let task = TaskRecord {
        id: TaskId::from_random_bytes(coordinator.random_bytes()),
        organisation_id: caller.organisation_id,
        state,
        model: model.model,
        model_bytes: model.model_bytes,
        schema: model.schema.clone(),
        plan: coordinator.blobs.put(plan.into()).await?,
        plan_bytes,
        description: request.description,
        created_at: now,
        revision: 0,
    };
    coordinator.storage.ensure_population(caller.organisation_id, &task.description.population, now).await?;
    coordinator.storage.create_task(&task, &first_version(&task, &model, now)).await?;
    coordinator.facts.notify_one();
    tracing::info!(task = %task.id, state = state.name(), api_key = caller.api_key_id, "task created");
    Ok((StatusCode::CREATED, Json(view(&coordinator.storage, task).await?)))
}

/// Checks a description by itself and against its model; the refusal lists every fault.
async fn check(
    coordinator: &Coordinator,
    caller: &Caller,
    request: &CreateTaskRequest,
) -> Result<ModelRecord, Refusal> {
    let mut faults = request.description.validate();
    let Some(record) = coordinator.storage.model(caller.organisation_id, request.model).await? else {
        let message = format!("there is no model {}", request.model);
        faults.push(Fault::new("model", message, "send the ONNX file to POST /v1/admin/models first"));
        return Err(Refusal::faults(&faults));
    };
    let onnx = coordinator.blobs.get(record.model).await?;
    let description = request.description.clone();
    let fitted = tokio::task::spawn_blocking(move || {
        Model::from_onnx(&onnx, &ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() })
            .map(|model| fit::faults(&description, &model))
    });
    match fitted.await.map_err(|error| Refusal::internal(&error))? {
        Ok(more) => faults.extend(more),
        // It was read when it was brought; another build of the coordinator may know fewer operators.
        Err(error) => faults.push(Fault::new("model", error.to_string(), "bring another model")),
    }
    if faults.is_empty() { Ok(record) } else { Err(Refusal::faults(&faults)) }
}

fn plan_of(description: &TaskDescription, model: &ModelRecord) -> Result<Vec<u8>, Refusal> {
    let plan = Plan {
        model: model.model,
        schema: model.schema.clone(),
        training: description.plan.clone(),
        codec: description.codec,
        protection: description.protection,
        grid: description.grid,
    };
    serde_json::to_vec(&plan).map_err(|error| Refusal::internal(&error))
}

fn first_version(task: &TaskRecord, model: &ModelRecord, now: Timestamp) -> ModelVersionRecord {
    ModelVersionRecord {
        task_id: task.id,
        number: 0,
        round_id: None,
        weights: model.weights,
        weights_bytes: model.schema.parameter_count() * size_of::<f32>() as u64,
        metrics: UpdateMetrics::default(),
        created_at: now,
    }
}
