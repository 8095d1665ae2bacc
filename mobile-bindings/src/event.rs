use folkmoot_client as client;
use serde::Serialize;

use crate::CallbackError;

/// Receives the client's events. Implement this in the app.
#[uniffi::export(with_foreign)]
pub trait EventListener: Send + Sync {
    /// Called for each event, on one of the client's threads. This function must not block.
    fn on_event(&self, event: ClientEvent) -> Result<(), CallbackError>;
}

/// An event in the life of a client. Ids are strings; times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum ClientEvent {
    /// The client was enrolled.
    Enrolled {
        /// The new client id.
        client_id: String,
        /// The population to which the token belongs.
        population: String,
    },
    /// The client waits until its next check-in.
    Waiting {
        /// The time of the next check-in.
        until: u64,
    },
    /// The client was selected for a round.
    Assigned {
        /// The assignment.
        assignment_id: String,
        /// The task.
        task_id: String,
        /// The round's number in its task.
        round_number: u64,
        /// The model version that training starts from.
        base_version: u64,
    },
    /// Training runs on this device. Sent again if the device fails and training continues on the CPU.
    Device {
        /// The assignment.
        assignment_id: String,
        /// `cpu`, or the adapter's name.
        device: String,
        /// The energy class: the power that the device uses in addition to the CPU. It is `low`, `high`, or `processor`
        /// for the CPU itself.
        energy_class: String,
    },
    /// Training made progress.
    Training {
        /// The assignment.
        assignment_id: String,
        /// The number of completed steps.
        step: u64,
        /// The number of steps in the whole training.
        steps_total: u64,
        /// The mean loss over the last batch.
        loss: f64,
    },
    /// The model is being evaluated on the local examples, without training.
    Evaluating {
        /// The assignment.
        assignment_id: String,
        /// The number of examples evaluated so far.
        example_count: u64,
        /// The sum of the losses of these examples.
        loss_sum: f64,
        /// The number of correct predictions among these examples.
        correct_count: u64,
        /// The number of examples in the whole evaluation.
        examples_total: u64,
    },
    /// The update is being sent.
    Uploading {
        /// The assignment.
        assignment_id: String,
        /// The number of bytes passed to the connection so far.
        sent: u64,
        /// The size of the update in bytes.
        total: u64,
    },
    /// The coordinator accepted the update for this round.
    Round {
        /// The assignment.
        assignment_id: String,
        /// The round's number in its task.
        round_number: u64,
        /// The time spent training, in milliseconds.
        training_milliseconds: u64,
        /// The number of bytes downloaded for this assignment. Cached blobs do not count.
        download_bytes: u64,
        /// The number of bytes of the update that arrived, including bytes that were sent again.
        upload_bytes: u64,
    },
    /// The client gave up the assignment.
    Aborted {
        /// The assignment.
        assignment_id: String,
        /// The reason: `stopped`, `training_failed`, `declined`, and so on.
        reason: String,
        /// Details for people to read.
        detail: String,
    },
    /// The coordinator no longer wants the update, for example because the round has closed.
    Dropped {
        /// The assignment.
        assignment_id: String,
        /// The coordinator's explanation.
        detail: String,
    },
    /// Training is paused. If the pause exceeds the policy's `give_up_after_seconds`, the client gives up the
    /// assignment.
    Paused {
        /// The reason: `charging`, `unmetered`, `idle`, `battery`, `thermal`, `plan`, `training_time`, `battery_time`,
        /// or the app's own text.
        reason: String,
    },
    /// The pause is over.
    Resumed,
    /// A request failed and will be sent again.
    BackingOff {
        /// The time of the next attempt.
        until: u64,
        /// The number of failures in a row.
        failures: u32,
        /// The error text.
        detail: String,
    },
}

impl From<client::ClientEvent> for ClientEvent {
    fn from(event: client::ClientEvent) -> Self {
        use client::ClientEvent as From;
        match event {
            From::Enrolled { client_id, population } => {
                Self::Enrolled { client_id: client_id.to_string(), population: population.to_string() }
            }
            From::Waiting { until } => Self::Waiting { until: until.0 },
            From::Assigned { assignment_id, task_id, round_number, base_version } => Self::Assigned {
                assignment_id: assignment_id.to_string(),
                task_id: task_id.to_string(),
                round_number,
                base_version,
            },
            From::Device { assignment_id, device, energy_class } => {
                let energy_class = energy_class.to_owned();
                Self::Device { assignment_id: assignment_id.to_string(), device, energy_class }
            }
            From::Training { assignment_id, step, steps_total, loss } => {
                Self::Training { assignment_id: assignment_id.to_string(), step, steps_total, loss }
            }
            From::Evaluating { assignment_id, metrics, examples_total } => Self::Evaluating {
                assignment_id: assignment_id.to_string(),
                example_count: metrics.example_count,
                loss_sum: metrics.loss_sum,
                correct_count: metrics.correct_count,
                examples_total,
            },
            From::Uploading { assignment_id, sent, total } => {
                Self::Uploading { assignment_id: assignment_id.to_string(), sent, total }
            }
            From::Accepted { assignment_id, round_number, report } => Self::Round {
                assignment_id: assignment_id.to_string(),
                round_number,
                training_milliseconds: report.training_milliseconds,
                download_bytes: report.download_bytes,
                upload_bytes: report.upload_bytes,
            },
            From::Aborted { assignment_id, reason, detail } => {
                Self::Aborted { assignment_id: assignment_id.to_string(), reason: word(&reason), detail }
            }
            From::Dropped { assignment_id, detail } => {
                Self::Dropped { assignment_id: assignment_id.to_string(), detail }
            }
            From::Paused { reason } => Self::Paused { reason },
            From::Resumed => Self::Resumed,
            From::BackingOff { until, failures, detail } => {
                Self::BackingOff { until: until.0, failures, detail }
            }
        }
    }
}

/// Returns the protocol's name of an enum variant without fields.
pub(crate) fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("an enum without content is one word");
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use client::protocol::{AssignmentId, messages::AbortReason};

    use super::*;

    #[test]
    fn a_reason_is_told_in_the_protocols_word() {
        let assignment_id = AssignmentId::from_random_bytes([7; 16]);
        let detail = String::from("why");
        let event =
            client::ClientEvent::Aborted { assignment_id, reason: AbortReason::TrainingFailed, detail };
        let told = ClientEvent::from(event);
        assert!(matches!(told, ClientEvent::Aborted { reason, .. } if reason == "training_failed"));
    }
}
