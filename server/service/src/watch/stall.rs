use folkmoot_coordinator::{round::AbandonReason, task::TaskState};
use folkmoot_notification::Event;
use folkmoot_rounds::coordinator::Coordinator;
use folkmoot_storage::{RoundRepository, StorageError, WatchedTask};

use super::{Message, Occasion, Told, Writer};

/// The number of failed rounds in a row after which a task counts as stalled.
const ROUNDS: u64 = 3;

/// Returns a notice if the task stands still after this version and no notice about this standstill was delivered yet.
pub(super) async fn occasion(
    coordinator: &Coordinator,
    writer: &Writer<'_>,
    watched: &WatchedTask,
    version: u64,
) -> Result<Option<Occasion>, StorageError> {
    let task = &watched.task;
    let TaskState::Active { after_round } = task.state else { return Ok(None) };
    if !writer.wants(task, Event::TaskStalled) {
        return Ok(None);
    }
    // A new version ends a standstill, and so does an operator who resumes the task. Neither number ever decreases.
    let standstill = version.saturating_add(after_round);
    if watched.told_stall == Some(standstill) {
        return Ok(None);
    }
    let (failed, _) = coordinator.storage.abandoned_in_a_row(task.id, after_round).await?;
    let since = coordinator.storage.database()?.trying_since(task.id, after_round).await?;
    let waited = since.map_or(0, |since| writer.now.0.saturating_sub(since.0));
    if failed < ROUNDS && u128::from(waited) < writer.channels.stalled_after.as_millis() {
        return Ok(None);
    }
    let rounds = coordinator.storage.rounds(task.id, 2, None).await?;
    let reason = rounds.iter().find_map(|record| record.round.phase.outcome().reason);
    let message = message(&task.description.name, failed, waited / 60_000, reason);
    let notice = writer.notice(task, Event::TaskStalled, standstill, message);
    Ok(Some(Occasion { notice, told: Told::Stall(task.id, standstill) }))
}

fn message(name: &str, failed: u64, minutes: u64, reason: Option<AbandonReason>) -> Message {
    let mut cause = match failed {
        0..ROUNDS => format!("The task has committed no version for {} hours.", minutes / 60),
        failed => format!("The last {failed} rounds failed one after the other."),
    };
    if let Some(reason) = reason {
        cause.push_str(&format!(" The latest reason is {}.", reason.name().replace('_', " ")));
    }
    let remedy = match reason {
        Some(AbandonReason::TooFewClients) | None => {
            "The task's page says what the round waits for. Enrol more clients, or create the task again with a smaller report \
             goal or a longer selection deadline."
        }
        Some(AbandonReason::TooFewReports) => {
            "Clients drop out or are too slow. The round's page says why; a longer reporting deadline gives them more time."
        }
        Some(_) => "The round's page and the coordinator's log say why.",
    };
    Message { title: format!("{name} stands still"), cause, remedy: Some(remedy.into()) }
}
