use folkmoot_client as client;
use serde::Serialize;

use crate::CallbackError;

/// Hears what a client does.
#[uniffi::export(with_foreign)]
pub trait EventListener: Send + Sync {
    /// Called on one of the client's threads; it must not block.
    fn on_event(&self, event: ClientEvent) -> Result<(), CallbackError>;
}

/// Something that a user of the client may want to see. Ids are texts; moments are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum ClientEvent {
    /// The client was enrolled.
    Enrolled {
        /// Its id.
        client_id: String,
        /// The population to which the token belongs.
        population: String,
    },
    /// There is nothing to do until the next check-in.
    Waiting {
        /// When that is.
        until: u64,
    },
    /// The client was drawn for a round.
    Assigned {
        /// The assignment.
        assignment_id: String,
        /// The task.
        task_id: String,
        /// The round's number in its task.
        round_number: u64,
        /// The model version from which it starts.
        base_version: u64,
    },
    /// Training runs on this device. It is told again if the device fails.
    Device {
        /// The assignment.
        assignment_id: String,
        /// `cpu`, or the adapter's name.
        device: String,
        /// What a step takes beside the processor: `low`, `high`, or `processor`.
        energy_class: String,
    },
    /// Training goes on.
    Training {
        /// The assignment.
        assignment_id: String,
        /// The steps done.
        step: u64,
        /// The steps of the whole training.
        steps_total: u64,
        /// The mean loss of the last batch.
        loss: f64,
    },
    /// The model is measured on the examples, without training it.
    Evaluating {
        /// The assignment.
        assignment_id: String,
        /// The examples so far.
        example_count: u64,
        /// The sum of their losses.
        loss_sum: f64,
        /// Those whose class was right.
        correct_count: u64,
        /// The examples of the whole evaluation.
        examples_total: u64,
    },
    /// The update is on its way.
    Uploading {
        /// The assignment.
        assignment_id: String,
        /// Bytes handed to the connection.
        sent: u64,
        /// Bytes of the update.
        total: u64,
    },
    /// The update was accepted and counts in this round.
    Round {
        /// The assignment.
        assignment_id: String,
        /// The round's number in its task.
        round_number: u64,
        /// Milliseconds spent training.
        training_milliseconds: u64,
        /// Bytes fetched for it; what was cached does not count.
        download_bytes: u64,
        /// Bytes that arrived of it, with what had to arrive again.
        upload_bytes: u64,
    },
    /// The client gave the assignment up.
    Aborted {
        /// The assignment.
        assignment_id: String,
        /// Why: `stopped`, `training_failed`, `declined`, and so on.
        reason: String,
        /// More for humans.
        detail: String,
    },
    /// The coordinator no longer wants the update: the round closed, say.
    Dropped {
        /// The assignment.
        assignment_id: String,
        /// What the coordinator said.
        detail: String,
    },
    /// Nothing is trained now. An assignment under way is given up if that lasts for half a minute.
    Paused {
        /// Why: `charging`, `unmetered`, `idle`, `battery`, `thermal`, `plan`, `training_time`, `battery_time`, or the app's own words.
        reason: String,
    },
    /// What was paused goes on.
    Resumed,
    /// A request failed and is sent again.
    BackingOff {
        /// When.
        until: u64,
        /// Failures in a row.
        failures: u32,
        /// What failed.
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

/// The word of the protocol for an enum without content.
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
