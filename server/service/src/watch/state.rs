use folkmoot_coordinator::task::{PauseReason, StopReason, TaskState};
use folkmoot_notification::{Event, Notice};
use folkmoot_storage::{RoundRepository, Storage, StorageError, TaskRecord};

use super::{Message, Writer};
use crate::http::pause_view;

/// A state of a task that is worth a notice.
#[derive(Clone, Copy)]
pub(super) enum News {
    Completed(StopReason),
    Paused(PauseReason),
}

impl News {
    /// Returns the event in a task's state, if a channel wants it. Changes by people are not events, because they know
    /// them.
    pub fn of(writer: &Writer<'_>, task: &TaskRecord) -> Option<Self> {
        let news = match task.state {
            TaskState::Completed { reason } => Self::Completed(reason),
            TaskState::Paused { reason: Some(reason), .. } => Self::Paused(reason),
            _ => return None,
        };
        writer.wants(task, news.event()).then_some(news)
    }

    pub fn event(self) -> Event {
        match self {
            Self::Completed(_) => Event::TaskCompleted,
            Self::Paused(_) => Event::TaskPaused,
        }
    }

    /// Writes the notice.
    pub async fn notice(
        self,
        storage: &Storage,
        writer: &Writer<'_>,
        task: &TaskRecord,
    ) -> Result<Notice, StorageError> {
        let name = &task.description.name;
        let message = match self {
            Self::Completed(reason) => {
                let (_, committed) = storage.round_counts(task.id).await?;
                completed(name, reason, committed)
            }
            Self::Paused(reason) => {
                let view = pause_view(storage, task, &reason).await?;
                Message {
                    title: format!("{name} was paused"),
                    cause: format!("The coordinator paused the task: {}.", view.reason),
                    remedy: Some(view.remedy),
                }
            }
        };
        Ok(writer.notice(task, self.event(), task.revision, message))
    }
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
