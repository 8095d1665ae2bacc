//! Tasks: what is trained, and whether it goes on.

pub mod activate;
pub mod cancel;
mod change;
pub mod create;
mod fit;
pub mod get;
pub mod list;
pub mod pause;
pub mod resume;
pub mod view;

use folkmoot_protocol::{ErrorCode, TaskId};
use folkmoot_storage::{TaskRecord, TaskRepository};

use super::{access::Caller, read};
use crate::{http::App, refusal::Refusal};

/// Finds a task of the caller's organisation.
pub async fn find(app: &App, caller: &Caller, id: &str) -> Result<TaskRecord, Refusal> {
    let id: TaskId = read::id(id, ErrorCode::TaskUnknown)?;
    let found = app.coordinator.storage.task(caller.organisation_id, id).await?;
    found.ok_or_else(|| Refusal::new(ErrorCode::TaskUnknown, format!("there is no task {id}")))
}
