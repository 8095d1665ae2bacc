use axum::{Router, extract::State, http::header, response::IntoResponse, routing::get};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::TaskRepository;

use super::{App, problem::Refused, readiness::problems};

/// Returns the routes that need no key.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
}

/// `GET /healthz`: the process runs.
async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the process can do its work: database and blob store answer, there is room on the disk, the clock is plausible,
/// the drivers run, and it is not going down. A task whose driver panicked is counted, and does not keep the others from being
/// served.
async fn readyz(State(app): State<App>) -> Result<String, Refused> {
    let problems = problems(&app).await;
    if !problems.is_empty() {
        return Err(Refusal::new(ErrorCode::Overloaded, problems.join("; ")).into());
    }
    Ok(match app.drivers.failing_tasks() {
        0 => "ready\n".to_owned(),
        failing => {
            format!("ready\ntasks whose driver panicked, and is tried again: {failing}; the log names them\n")
        }
    })
}

/// `GET /metrics`: Prometheus's text format.
async fn metrics(State(app): State<App>) -> impl IntoResponse {
    // Whoever is drawn waits no more: where nobody may know how many were, it is not told how many wait.
    let waiting = match hides_counts(&app).await {
        true => f64::NAN,
        false => app.coordinator.check_ins.len() as f64,
    };
    metrics::gauge!("folkmoot_waiting_check_ins").set(waiting);
    let text = app.metrics.map(|handle| handle.render()).unwrap_or_default();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

/// Says whether a task under way hides how many clients its rounds drew. A database that does not answer says nothing of it.
async fn hides_counts(app: &App) -> bool {
    let coordinator = &app.coordinator;
    let Ok(tasks) = coordinator.storage.tasks_to_drive().await else { return true };
    for id in tasks {
        match coordinator.catalog.task(&coordinator.storage, id).await {
            Ok(task) if !task.description.hides_counts() => {}
            _ => return true,
        }
    }
    false
}
