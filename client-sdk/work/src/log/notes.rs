use folkmoot_protocol::Work;
use folkmoot_session::{Answer, ArtifactKind, Effect, Event, State};

use super::{LogAction, Note, entry::body_bytes};

/// Returns the note about data that is about to leave the device, if the effect sends any.
pub fn note_before(effect: &Effect, state: &State) -> Option<Note> {
    let of_work = |action| of_work(action, state);
    let said = |words: &str| Some(words.to_owned());
    Some(match effect {
        Effect::CheckIn { request, .. } => {
            Note { bytes_sent: body_bytes(request), ..Note::new(LogAction::Asked) }
        }
        Effect::Listen { .. } => {
            let detail = said("asked whether the round waits for the update");
            Note { detail, ..of_work(LogAction::Asked) }
        }
        Effect::Exchange { .. } => {
            let detail = said("asked for the next message of secure aggregation");
            Note { detail, ..of_work(LogAction::Asked) }
        }
        Effect::QueryUpload { .. } => {
            let detail = said("asked how much of the update has arrived");
            Note { detail, ..of_work(LogAction::Asked) }
        }
        Effect::Upload { offset, length, digest, .. } => {
            let bytes_sent = length.saturating_sub(*offset);
            Note { bytes_sent, detail: Some(format!("update {digest}")), ..of_work(LogAction::Sent) }
        }
        Effect::SendReport { report, .. } => {
            Note { bytes_sent: body_bytes(report), ..of_work(LogAction::Reported) }
        }
        Effect::SendAbort { abort, .. } => {
            Note { bytes_sent: body_bytes(abort), ..of_work(LogAction::ToldGaveUp) }
        }
        _ => return None,
    })
}

/// Returns a note about received data or completed work, if the event has any. `state` is the session's state before
/// the event. `finished` is the work that the event ends, with the number of its examples.
pub fn note_of(event: &Event, state: &State, finished: Option<(Work, u64)>) -> Option<Note> {
    let Event::Answered { answer, .. } = event else { return None };
    match answer {
        Answer::Fetch(Ok(bytes)) if *bytes > 0 => {
            let detail = fetching(state).map(str::to_owned);
            Some(Note { bytes_received: *bytes, detail, ..of_work(LogAction::Fetched, state) })
        }
        Answer::Trained => {
            let (work, examples) = finished?;
            let action = match work {
                Work::Training => LogAction::Trained,
                Work::Evaluation => LogAction::Evaluated,
            };
            Some(Note { detail: Some(format!("{examples} examples")), ..of_work(action, state) })
        }
        _ => None,
    }
}

/// Returns the note about an assignment that a step has given up, if it has.
pub fn note_of_step(before: &State, after: &State) -> Option<Note> {
    let (work, State::Aborting { aborting, .. }) = (before.work()?, after) else { return None };
    let reason = serde_json::to_value(aborting.abort.reason).unwrap_or_default();
    let reason = reason.as_str().unwrap_or_default();
    let detail = &aborting.abort.detail;
    let words = if detail.is_empty() { reason.to_owned() } else { format!("{reason}: {detail}") };
    let task_id = Some(work.assignment.task_id);
    Some(Note { task_id, detail: Some(words), ..Note::new(LogAction::GaveUp) })
}

fn of_work(action: LogAction, state: &State) -> Note {
    state.work().map_or_else(|| Note::new(action), |work| Note::of(action, &work.assignment))
}

fn fetching(state: &State) -> Option<&'static str> {
    let State::Assigned { fetching, .. } = state else { return None };
    Some(match fetching.kind {
        ArtifactKind::Plan => "plan",
        ArtifactKind::Model => "model",
        ArtifactKind::Weights => "weights",
    })
}
