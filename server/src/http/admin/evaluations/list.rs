use axum::{
    Extension, Json,
    extract::{Path, State},
};
use folkmoot_coordinator::task::{Measured, Metric};
use folkmoot_protocol::{Problem, Timestamp};
use folkmoot_storage::{EvaluationRecord, EvaluationRepository};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    http::{
        App,
        admin::{access::Caller, tasks},
    },
    refusal::Refusal,
};

/// What was measured of a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvaluationView {
    /// The version.
    pub version: u64,
    /// `central` (on the operator's examples) or `federated` (on the clients').
    pub source: String,
    /// How many clients measured; 0 for the operator's examples.
    pub client_count: u64,
    /// Over how many examples.
    pub example_count: u64,
    /// Their mean loss.
    pub mean_loss: Option<f64>,
    /// The share of them that was predicted right.
    pub accuracy: Option<f64>,
    /// Says that no version of this source is better by the task's metric.
    pub is_best: bool,
    /// The same by slice, `attribute=value`: slices of too few clients are left out.
    pub slices: Vec<SliceView>,
    /// When.
    pub created_at: Timestamp,
}

/// What was measured on some of the clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SliceView {
    /// `attribute=value`.
    pub slice: String,
    /// How many clients measured.
    pub client_count: u64,
    /// Over how many examples.
    pub example_count: u64,
    /// Their mean loss.
    pub mean_loss: Option<f64>,
    /// The share of them that was predicted right.
    pub accuracy: Option<f64>,
}

/// Lists what was measured of a task's versions, the oldest first.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/evaluations", tag = "model versions", security(("api_key" = ["viewer"])),
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, body = [EvaluationView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn list_evaluations(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Vec<EvaluationView>>, Refusal> {
    let task = tasks::find(&app, &caller, &id).await?;
    let storage = &app.coordinator.storage;
    let records = storage.evaluations(task.id).await?;
    let metric = task.description.evaluation.as_ref().map_or(Metric::Accuracy, |one| one.metric);
    let mut views = Vec::new();
    for record in &records {
        let slices = storage.evaluation_slices(task.id, record.version).await?;
        let of_source = slices.iter().filter(|slice| slice.source == record.source);
        views.push(EvaluationView {
            version: record.version,
            source: record.source.name().into(),
            client_count: record.client_count,
            example_count: record.metrics.example_count,
            mean_loss: Metric::Loss.of(&record.metrics),
            accuracy: Metric::Accuracy.of(&record.metrics),
            is_best: best(&records, record, metric) == Some(record.version),
            slices: of_source.map(slice_view).collect(),
            created_at: record.created_at,
        });
    }
    Ok(Json(views))
}

/// Returns the best version of the record's source.
fn best(records: &[EvaluationRecord], record: &EvaluationRecord, metric: Metric) -> Option<u64> {
    let of_source = records.iter().filter(|one| one.source == record.source);
    let measured: Vec<Measured> = of_source
        .filter_map(|one| Some(Measured { version: one.version, metric, value: metric.of(&one.metrics)? }))
        .collect();
    Measured::best(&measured).map(|best| best.version)
}

fn slice_view(record: &EvaluationRecord) -> SliceView {
    SliceView {
        slice: record.slice.clone(),
        client_count: record.client_count,
        example_count: record.metrics.example_count,
        mean_loss: Metric::Loss.of(&record.metrics),
        accuracy: Metric::Accuracy.of(&record.metrics),
    }
}
