use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_api::evaluations::{ClassEvaluationView, EvaluationView};
use folkmoot_protocol::Problem;
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{EvaluationRepository, TaskRecord};

use crate::http::{
    App,
    admin::{access::Caller, called, disclosure::Disclosure, versions::find},
    problem::Refused,
};

/// Lists the evaluations of a task's versions, oldest first.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/evaluations", tag = "model versions", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task's name, its id, or the beginning of its id")),
    responses(
        (status = 200, body = [EvaluationView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_evaluations(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Vec<EvaluationView>>, Refused> {
    let task = called::task(&app, &caller, &id).await?;
    let disclosure = Disclosure::of_task(&app, &task).await?;
    let mut slices = app.coordinator.storage.evaluation_slices(task.id).await?.into_iter().peekable();
    let mut views = evaluations(&app, &task, disclosure).await?;
    for version in views.chunk_by_mut(|one, next| one.version == next.version) {
        while let Some(slice) = slices.next_if(|slice| slice.version <= version[0].version) {
            let of_source = version
                .iter_mut()
                .find(|view| (view.version, view.source.as_str()) == (slice.version, slice.source.name()));
            if let Some(view) = of_source {
                view.slices.push(disclosure.of_evaluations().slice(&slice));
            }
        }
    }
    Ok(Json(views))
}

/// Lists the evaluations of a version with the predictions of each class, `central` before `federated` and `fine_tuned`. The
/// list is empty if the version was not evaluated.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/evaluations/{number}", tag = "model versions",
    security(("api_key" = ["viewer"])),
    params(
        ("id" = String, Path, description = "The task's name, its id, or the beginning of its id"),
        ("number" = String, Path, description = "The version's number, or `latest`"),
    ),
    responses(
        (status = 200, body = [ClassEvaluationView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn class_evaluations(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path((id, number)): Path<(String, String)>,
) -> Result<Json<Vec<ClassEvaluationView>>, Refused> {
    let task = called::task(&app, &caller, &id).await?;
    let version = find(&app, &task, &number).await?.number;
    let disclosure = Disclosure::of_task(&app, &task).await?;
    let mut views = evaluations(&app, &task, disclosure).await?;
    views.retain(|view| view.version == version);
    let records = app.coordinator.storage.evaluations_at(task.id, version).await?;
    let with_classes = views.into_iter().map(|evaluation| {
        let record = records.iter().find(|one| one.source.name() == evaluation.source);
        ClassEvaluationView {
            classes: record.and_then(|one| disclosure.of_evaluations().classes(one)),
            evaluation,
        }
    });
    Ok(Json(with_classes.collect()))
}

/// Returns the evaluations of a task's versions, oldest first, without slices.
///
/// # Errors
/// Fails if the storage fails.
pub async fn evaluations(
    app: &App,
    task: &TaskRecord,
    disclosure: Disclosure,
) -> Result<Vec<EvaluationView>, Refusal> {
    let records = app.coordinator.storage.evaluations(task.id).await?;
    let metric = task.description.evaluation.as_ref().map(|one| one.metric).unwrap_or_default();
    Ok(disclosure.of_evaluations().evaluations(&records, metric))
}
