use folkmoot_coordinator::task::{StopReason, TaskState};
use folkmoot_notification::{Event, Notice};
use folkmoot_storage::{RoundRepository, Storage, StorageError, TaskRecord};

use super::{Message, Writer};
use crate::http::pause_view;

/// Writes a notice about the state of a task. `None` if nobody wants one: changes by operators are no news.
pub(super) async fn notice(
    storage: &Storage,
    writer: &Writer<'_>,
    task: &TaskRecord,
) -> Result<Option<Notice>, StorageError> {
    let name = &task.description.name;
    let (event, message) = match &task.state {
        TaskState::Completed { reason } if writer.wants(task, Event::TaskCompleted) => {
            let (_, committed) = storage.round_counts(task.id).await?;
            (Event::TaskCompleted, completed(name, *reason, committed))
        }
        TaskState::Paused { reason: Some(reason), .. } if writer.wants(task, Event::TaskPaused) => {
            let view = pause_view(storage, task, reason).await?;
            let message = Message {
                title: format!("{name} was paused"),
                cause: format!("The coordinator paused the task: {}.", view.reason),
                remedy: Some(view.remedy),
            };
            (Event::TaskPaused, message)
        }
        _ => return Ok(None),
    };
    Ok(Some(writer.notice(task, event, task.revision, message)))
}

fn completed(name: &str, reason: StopReason, rounds: u64) -> Message {
    let why = match reason {
        StopReason::Rounds => "It committed all the rounds that it was to have.",
        StopReason::Target => "Its metric reached the target.",
        StopReason::Plateau => "Its metric stopped improving.",
        StopReason::Time => "Its time limit was reached.",
        StopReason::PrivacyBudget => "One more version would have exceeded its privacy budget.",
    };
    let rounds = match rounds {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    Message { title: format!("{name} has finished"), cause: format!("{why} It has {rounds}."), remedy: None }
}
