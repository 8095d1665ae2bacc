//! Writes the session's effects and events to the transparency log.

use std::sync::PoisonError;

use folkmoot_protocol::Work;
use folkmoot_session::{Answer, ArtifactKind, Effect, Event, State};
use serde::Serialize;

use super::runner::Runner;
use crate::transparency::{LogAction, LogEntry};

impl Runner<'_> {
    /// Records data that is about to leave the device.
    pub(super) fn note_effect(&self, effect: &Effect) {
        match effect {
            Effect::CheckIn { request, .. } => {
                self.note(LogAction::Asked, |entry| entry.bytes_sent = body_bytes(request));
            }
            Effect::Listen { .. } => self.note_of_work(LogAction::Asked, |entry| {
                entry.detail = Some("asked whether the round waits for the update".to_owned());
            }),
            Effect::QueryUpload { .. } => self.note_of_work(LogAction::Asked, |entry| {
                entry.detail = Some("asked how much of the update has arrived".to_owned());
            }),
            Effect::Upload { offset, length, digest, .. } => self.note_of_work(LogAction::Sent, |entry| {
                entry.bytes_sent = length.saturating_sub(*offset);
                entry.detail = Some(format!("update {digest}"));
            }),
            Effect::SendReport { report, .. } => {
                self.note_of_work(LogAction::Reported, |entry| entry.bytes_sent = body_bytes(report));
            }
            Effect::SendAbort { abort, .. } => {
                self.note_of_work(LogAction::ToldGaveUp, |entry| entry.bytes_sent = body_bytes(abort));
            }
            _ => {}
        }
    }

    /// Records what was received or done.
    pub(super) fn note_event(&self, event: &Event) {
        let Event::Answered { answer, .. } = event else { return };
        match answer {
            Answer::Fetch(Ok(bytes)) if *bytes > 0 => self.note_of_work(LogAction::Fetched, |entry| {
                entry.bytes_received = *bytes;
                entry.detail = fetching(self.session.state()).map(str::to_owned);
            }),
            Answer::Trained => {
                let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
                let work = finished.as_ref().map(|finished| (finished.plan.work, finished.outcome.metrics));
                drop(finished);
                if let Some((work, metrics)) = work {
                    let action = match work {
                        Work::Training => LogAction::Trained,
                        Work::Evaluation => LogAction::Evaluated,
                    };
                    self.note_of_work(action, |entry| {
                        entry.detail = Some(format!("{} examples", metrics.example_count));
                    });
                }
            }
            _ => {}
        }
    }

    /// Records that an assignment was given up.
    pub(super) fn note_step(&self, before: &State) {
        if let (Some(_), State::Aborting { aborting, .. }) = (before.work(), self.session.state()) {
            let (reason, detail) = (aborting.abort.reason, &aborting.abort.detail);
            let task_id = before.work().map(|work| work.assignment.task_id);
            self.note(LogAction::GaveUp, |entry| {
                entry.task_id = task_id;
                let reason = serde_json::to_value(reason).unwrap_or_default();
                let reason = reason.as_str().unwrap_or_default();
                let words = if detail.is_empty() { reason.to_owned() } else { format!("{reason}: {detail}") };
                entry.detail = Some(words);
            });
        }
    }

    fn note(&self, action: LogAction, describe: impl FnOnce(&mut LogEntry)) {
        self.client.transparency_log.write(action, describe);
    }

    fn note_of_work(&self, action: LogAction, describe: impl FnOnce(&mut LogEntry)) {
        let work = self.session.state().work();
        self.note(action, |entry| {
            entry.task_id = work.map(|work| work.assignment.task_id);
            entry.round_number = work.map(|work| work.assignment.round_number);
            describe(entry);
        });
    }
}

/// Returns the length of a JSON body in bytes.
pub(super) fn body_bytes(body: &impl Serialize) -> u64 {
    serde_json::to_vec(body).map_or(0, |json| json.len() as u64)
}

fn fetching(state: &State) -> Option<&'static str> {
    let State::Assigned { fetching, .. } = state else { return None };
    Some(match fetching.kind {
        ArtifactKind::Plan => "plan",
        ArtifactKind::Model => "model",
        ArtifactKind::Weights => "weights",
    })
}
