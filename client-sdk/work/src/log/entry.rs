use folkmoot_protocol::{
    PopulationName, TaskId, Timestamp,
    messages::{Assignment, EnrolRequest, Rollout, RolloutReport},
    secure::SecureMessage,
};
use serde::{Deserialize, Serialize};

use crate::WorkError;

/// The maximum number of bytes in a detail text. Longer texts are truncated.
const DETAIL_BYTES_MAX: usize = 512;

/// The logged action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogAction {
    /// The client's key was enrolled.
    Enrolled,
    /// The client asked for an assignment, or for the state of an update.
    Asked,
    /// A plan, a model or weights were received.
    Fetched,
    /// A model was trained on the examples.
    Trained,
    /// A model was evaluated on the examples.
    Evaluated,
    /// An update, or a message of secure aggregation, was sent. The entry is written before sending, with the full size.
    Sent,
    /// The duration and size of an accepted update were reported.
    Reported,
    /// An assignment exceeded one of the app's limits, which the entry names. The coordinator does not learn it.
    Declined,
    /// An assignment was given up.
    GaveUp,
    /// The client notified the coordinator that it gave up an assignment.
    ToldGaveUp,
    /// The user gave or withdrew consent.
    Consent,
}

/// An entry of the transparency log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The time of the action.
    pub at: Timestamp,
    /// The logged action.
    pub action: LogAction,
    /// The task, if the action belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The round's number in its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_number: Option<u64>,
    /// The number of bytes sent in the bodies of requests.
    pub bytes_sent: u64,
    /// The number of bytes of blobs received.
    pub bytes_received: u64,
    /// Details for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The content of an entry. The host adds the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The logged action.
    pub action: LogAction,
    /// The task, if the action belongs to one.
    pub task_id: Option<TaskId>,
    /// The round's number in its task.
    pub round_number: Option<u64>,
    /// The number of bytes sent in the bodies of requests.
    pub bytes_sent: u64,
    /// The number of bytes of blobs received.
    pub bytes_received: u64,
    /// Details for people to read.
    pub detail: Option<String>,
}

impl Note {
    /// Creates a note about an action that belongs to no task.
    pub fn new(action: LogAction) -> Self {
        Self { action, task_id: None, round_number: None, bytes_sent: 0, bytes_received: 0, detail: None }
    }

    /// The client's key was enrolled with this request.
    pub fn enrolled(request: &EnrolRequest, population: &PopulationName) -> Self {
        let detail = Some(population.to_string());
        Self { bytes_sent: body_bytes(request), detail, ..Self::new(LogAction::Enrolled) }
    }

    /// The user consented to this text.
    pub fn consent_given(words: &str) -> Self {
        Self { detail: Some(format!("given: {words}")), ..Self::new(LogAction::Consent) }
    }

    /// The user withdrew consent.
    pub fn consent_withdrawn() -> Self {
        Self { detail: Some("withdrawn".to_owned()), ..Self::new(LogAction::Consent) }
    }

    /// Weights arrived before an assignment needed them.
    pub fn prefetched(bytes: u64) -> Self {
        let detail = Some("weights, prefetched".to_owned());
        Self { bytes_received: bytes, detail, ..Self::new(LogAction::Fetched) }
    }

    /// A part of a model that is rolled out to this device arrived.
    pub fn rollout_fetched(rollout: &Rollout, bytes: u64) -> Self {
        let (task_id, detail) =
            (Some(rollout.task_id), Some(format!("the model of rollout {}", rollout.number)));
        Self { task_id, bytes_received: bytes, detail, ..Self::new(LogAction::Fetched) }
    }

    /// The client is about to report whether it can use the model of a rollout.
    pub fn rollout_reported(report: &RolloutReport) -> Self {
        let detail = Some(format!("whether the model of rollout {} can be used", report.number));
        Self { bytes_sent: body_bytes(report), detail, ..Self::new(LogAction::Reported) }
    }

    /// A message of secure aggregation is about to leave the device. It is for other clients, or helps to unmask their
    /// sum.
    pub fn secure_message(message: &SecureMessage, assignment: &Assignment) -> Self {
        let content = match message {
            SecureMessage::Keys { .. } => "keys",
            SecureMessage::Shares { .. } => "shares",
            SecureMessage::Agreement { .. } => "agreement",
            SecureMessage::Opening { .. } => "opening",
        };
        let detail = Some(format!("secure aggregation: {content}"));
        Self { bytes_sent: body_bytes(message), detail, ..Self::of(LogAction::Sent, assignment) }
    }

    /// An assignment exceeded one of the app's limits. `None` if the error has another cause.
    pub fn declined(error: &WorkError, task_id: TaskId, round_number: u64) -> Option<Self> {
        let (task_id, round_number) = (Some(task_id), Some(round_number));
        let detail = Some(error.over_budget?.to_string());
        Some(Self { task_id, round_number, detail, ..Self::new(LogAction::Declined) })
    }

    pub(super) fn of(action: LogAction, assignment: &Assignment) -> Self {
        let (task_id, round_number) = (Some(assignment.task_id), Some(assignment.round_number));
        Self { task_id, round_number, ..Self::new(action) }
    }

    /// Returns the entry of this time, with a detail that is not too long.
    pub(super) fn at(self, at: Timestamp) -> LogEntry {
        let Self { action, task_id, round_number, bytes_sent, bytes_received, detail } = self;
        let detail = detail.map(shortened);
        LogEntry { at, action, task_id, round_number, bytes_sent, bytes_received, detail }
    }
}

/// Returns the length of a JSON body in bytes.
pub(super) fn body_bytes(body: &impl Serialize) -> u64 {
    serde_json::to_vec(body).map_or(0, |json| json.len() as u64)
}

fn shortened(mut detail: String) -> String {
    detail.truncate(detail.floor_char_boundary(DETAIL_BYTES_MAX));
    detail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OverBudget, samples};

    #[test]
    fn long_words_are_cut_between_letters() {
        let detail = Note::consent_given(&"é".repeat(400)).at(Timestamp(5)).detail.unwrap();
        assert!(detail.len() <= DETAIL_BYTES_MAX && detail.ends_with('é'));
    }

    #[test]
    fn a_message_of_secure_aggregation_is_sent_with_its_size() {
        let message = SecureMessage::Agreement { signature: "c2lnbmVk".to_owned() };
        let assignment = samples::assignment();
        let note = Note::secure_message(&message, &assignment);
        assert_eq!((note.action, note.task_id), (LogAction::Sent, Some(assignment.task_id)));
        assert_eq!(note.bytes_sent, r#"{"step":"agreement","signature":"c2lnbmVk"}"#.len() as u64);
        assert_eq!(note.detail.as_deref(), Some("secure aggregation: agreement"));
    }

    #[test]
    fn only_a_limit_is_named() {
        let task_id = samples::assignment().task_id;
        assert_eq!(Note::declined(&WorkError::declined(), task_id, 3), None);
        let over = OverBudget::ModelBytes { bytes: 2, max: 1 };
        let note = Note::declined(&over.into(), task_id, 3).expect("a limit was exceeded");
        assert_eq!(
            (note.action, note.task_id, note.round_number),
            (LogAction::Declined, Some(task_id), Some(3))
        );
        assert_eq!(note.detail, Some(over.to_string()));
    }
}
