use axum::{Router, extract::State, http::header, response::IntoResponse, routing::get};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::TaskRepository;

use super::{App, problem::Refused, readiness::problems};

/// The time, in milliseconds, after which a monitor should ask again whether the process is ready.
const RETRY_MILLISECONDS: u64 = 5_000;

/// Returns the routes for monitoring, which need no key.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
}

/// `GET /healthz`: the process is running.
async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the process can do its work. The database and blob store answer, the disk has room, the clock is
/// plausible, the drivers run, and the process is not shutting down. Tasks whose driver panicked are counted, but do
/// not make the process unready, because the other tasks are still served.
async fn readyz(State(app): State<App>) -> Result<String, Refused> {
    let problems = problems(&app).await;
    if !problems.is_empty() {
        let refusal = Refusal::new(ErrorCode::Overloaded, problems.join("; "));
        return Err(refusal.retry_after(RETRY_MILLISECONDS).into());
    }
    Ok(match app.drivers.failing_tasks() {
        0 => "ready\n".to_owned(),
        failing => {
            format!(
                "ready\ntasks whose driver panicked and is being retried: {failing}; the log names them\n"
            )
        }
    })
}

/// `GET /metrics`: the metrics in Prometheus's text format.
async fn metrics(State(app): State<App>) -> impl IntoResponse {
    // Drawn clients stop waiting. If the number of drawn clients is secret, the number of waiting ones must be, too.
    let waiting = match hides_counts(&app).await {
        true => f64::NAN,
        false => app.coordinator.check_ins.len() as f64,
    };
    metrics::gauge!("folkmoot_waiting_check_ins").set(waiting);
    let text = app.metrics.map(|handle| handle.render()).unwrap_or_default();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

/// Returns whether any running task hides the number of clients that its rounds drew; `true` if the database does not
/// answer.
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
