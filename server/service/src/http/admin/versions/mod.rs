//! The model versions of a task.

pub(crate) mod download;
pub(crate) mod list;

use folkmoot_protocol::{Count, ErrorCode};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{ModelVersionRecord, ModelVersionRepository, TaskRecord};

use crate::http::App;

/// Finds the version that a path names by its number or as `latest`.
pub(super) async fn find(app: &App, task: &TaskRecord, number: &str) -> Result<ModelVersionRecord, Refusal> {
    let storage = &app.coordinator.storage;
    // Text that is not a number, or too large a number, matches no version.
    let counted = number.parse().ok().and_then(|number: u64| Count::try_from(number).ok());
    let found = match (number, counted) {
        ("latest", _) => storage.latest_model_version(task.id).await?,
        (_, Some(number)) => storage.model_version(task.id, number.get()).await?,
        (_, None) => None,
    };
    found.ok_or_else(|| {
        let number: String = number.chars().take(20).collect();
        let detail = format!(
            "task {} has no model version {number}; request an existing version or `latest`",
            task.id
        );
        Refusal::new(ErrorCode::ModelVersionUnknown, detail)
    })
}
