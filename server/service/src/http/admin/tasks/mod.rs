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

use folkmoot_protocol::{ErrorCode, TaskId};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{TaskRecord, TaskRepository};

use super::{access::Caller, read};
use crate::http::App;

/// Finds a task of the caller's organisation.
pub async fn find(app: &App, caller: &Caller, id: &str) -> Result<TaskRecord, Refusal> {
    let id: TaskId = read::id(id, ErrorCode::TaskUnknown)?;
    let found = app.coordinator.storage.task(caller.organisation_id, id).await?;
    found.ok_or_else(|| Refusal::new(ErrorCode::TaskUnknown, format!("there is no task {id}")))
}
