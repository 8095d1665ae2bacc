//! Tasks: what is trained, and whether it goes on.

pub(crate) mod activate;
pub(crate) mod cancel;
mod change;
pub(crate) mod check;
pub(crate) mod create;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod pause;
pub(crate) mod pause_view;
pub(crate) mod resume;
pub(crate) mod roll_back;
pub(crate) mod series;
pub(crate) mod view;

#[cfg(test)]
pub(crate) use check::command;
pub use check::{CheckTaskRequest, CheckTaskView, FaultView};
use folkmoot_protocol::{ErrorCode, TaskId};
use folkmoot_storage::{TaskRecord, TaskRepository};
pub use pause_view::PauseView;
pub use roll_back::RollBackRequest;
pub use series::{SeriesPoint, SeriesView};
pub use view::{OpenRoundView, TaskSummary, TaskView};

use super::{access::Caller, read};
use crate::{http::App, refusal::Refusal};

/// Finds a task of the caller's organisation.
pub async fn find(app: &App, caller: &Caller, id: &str) -> Result<TaskRecord, Refusal> {
    let id: TaskId = read::id(id, ErrorCode::TaskUnknown)?;
    let found = app.coordinator.storage.task(caller.organisation_id, id).await?;
    found.ok_or_else(|| Refusal::new(ErrorCode::TaskUnknown, format!("there is no task {id}")))
}
