//! The digits demo for a coordinator without tasks.

use axum::{Extension, Json, extract::State, http::StatusCode};
use folkmoot_api::tasks::{CreateTaskRequest, TaskView};
use folkmoot_coordinator::task::{TaskDescription, TaskFilter};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::{credential::Credential, refusal::Refusal, registry};
use folkmoot_storage::{PopulationRepository, TaskRepository, TokenRecord, TokenRepository};

use super::{tasks::view::view, tokens::create::EXPIRES_IN_DEFAULT};
use crate::http::{App, admin::access::Caller, problem::Refused};

static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A demo for a coordinator without tasks: one task, and clients that run inside the coordinator's process.
pub trait FirstRun: Send + Sync {
    /// Returns the ONNX model.
    fn model(&self) -> &'static [u8];

    /// Returns the description of the task.
    fn description(&self) -> TaskDescription;

    /// Returns the number of clients.
    fn clients(&self) -> u64;

    /// Starts the clients, which enrol with the token and run until the process ends.
    ///
    /// # Errors
    /// Returns a sentence for the operator if the clients cannot be started.
    fn start(&self, token: &str) -> Result<(), String>;
}

/// Creates the digits demo and starts its clients inside the coordinator. Fails if there is already a task.
#[utoipa::path(
    post, path = "/v1/admin/demo", tag = "operations", security(("api_key" = ["admin"])),
    responses(
        (status = 201, body = TaskView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn start_demo(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<(StatusCode, Json<TaskView>), Refused> {
    // Handle one request at a time, so that a second request finds the first request's task and fails.
    let _alone = ONE_AT_A_TIME.lock().await;
    let (coordinator, now) = (&app.coordinator, (app.clock)());
    let storage = &coordinator.storage;
    let organisation_id = caller.organisation_id;
    let refuse = |detail: &str| Err(Refusal::new(ErrorCode::TaskStateConflict, detail).into());
    let Some(demo) = &app.first_run else {
        return refuse("this coordinator has no demo; start one with `folkmoot demo`");
    };
    if !storage.tasks(organisation_id, &TaskFilter::default(), 1, None).await?.is_empty() {
        return refuse("this coordinator already has tasks; start the demo on a coordinator without tasks");
    }
    let description = demo.description();
    let (bytes_max, onnx) = (app.limits.model_bytes_max, demo.model());
    let model = registry::create_model(coordinator, organisation_id, onnx.into(), bytes_max, now).await?;
    storage.ensure_population(organisation_id, &description.population, now).await?;
    let token = Credential::from_random_bytes(coordinator.random_bytes(), coordinator.random_bytes());
    storage
        .create_token(&TokenRecord {
            secret_hash: token.secret_hash(),
            uses_max: Some(demo.clients()),
            expires_at: Some(now.plus_seconds(EXPIRES_IN_DEFAULT)),
            ..TokenRecord::unlimited(token.id.clone(), organisation_id, description.population.clone(), now)
        })
        .await?;
    let request = CreateTaskRequest {
        description,
        model: model.model,
        evaluation_data: None,
        warm_start: None,
        activate: true,
    };
    let task = registry::create_task(coordinator, organisation_id, request, now).await?;
    demo.start(&token.to_string()).map_err(|detail| Refusal::new(ErrorCode::Overloaded, detail))?;
    tracing::info!(task = %task.id, by = %caller.who, "demo started");
    Ok((StatusCode::CREATED, Json(view(storage, task).await?)))
}
