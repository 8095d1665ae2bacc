use folkmoot_engine::Metrics;
use folkmoot_protocol::{
    AssignmentId, ClientId, PopulationName, TaskId, Timestamp,
    messages::{AbortReason, ReportRequest},
};
use folkmoot_session::{Resume, State};
use serde::Serialize;

/// An event in the life of a client, for the app.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClientEvent {
    /// The client was enrolled.
    Enrolled {
        /// The id of the client.
        client_id: ClientId,
        /// The population to which the token belongs.
        population: PopulationName,
    },
    /// The client waits until its next check-in.
    Waiting {
        /// The time of the next check-in.
        until: Timestamp,
    },
    /// The client was selected for a round.
    Assigned {
        /// The assignment.
        assignment_id: AssignmentId,
        /// The task.
        task_id: TaskId,
        /// The round's number in its task.
        round_number: u64,
        /// The model version that training starts from.
        base_version: u64,
    },
    /// Training runs on this device. Sent again if the device fails and training continues on the CPU.
    Device {
        /// The assignment.
        assignment_id: AssignmentId,
        /// `cpu`, or the adapter's name.
        device: String,
        /// The energy class: the power that the device uses in addition to the CPU. It is `low`, `high`, or `processor`
        /// for the CPU itself.
        energy_class: &'static str,
    },
    /// Training made progress.
    Training {
        /// The assignment.
        assignment_id: AssignmentId,
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
        assignment_id: AssignmentId,
        /// The sums over the examples so far.
        metrics: Metrics,
        /// The number of examples in the whole evaluation.
        examples_total: u64,
    },
    /// The update is being sent.
    Uploading {
        /// The assignment.
        assignment_id: AssignmentId,
        /// The number of bytes passed to the connection so far.
        sent: u64,
        /// The size of the update in bytes.
        total: u64,
    },
    /// The coordinator accepted the update.
    Accepted {
        /// The assignment.
        assignment_id: AssignmentId,
        /// The round's number in its task.
        round_number: u64,
        /// The report on duration and size that the client sends next.
        report: ReportRequest,
    },
    /// The client gave up the assignment.
    Aborted {
        /// The assignment.
        assignment_id: AssignmentId,
        /// The reason.
        reason: AbortReason,
        /// Details for people to read.
        detail: String,
    },
    /// The coordinator no longer wants the update, for example because the round has closed.
    Dropped {
        /// The assignment.
        assignment_id: AssignmentId,
        /// The coordinator's explanation.
        detail: String,
    },
    /// Training is paused. If the pause is too long, the client gives up the assignment.
    Paused {
        /// The reason: a stable name, or the app's own text.
        reason: String,
    },
    /// The pause is over.
    Resumed,
    /// A request failed and will be sent again.
    BackingOff {
        /// The time of the next attempt.
        until: Timestamp,
        /// The number of failures in a row.
        failures: u32,
        /// The error text.
        detail: String,
    },
}

/// Returns the event that a step caused, derived from the states before and after it. `detail` is the last error text.
pub fn event_of(before: &State, after: &State, detail: &str) -> Option<ClientEvent> {
    let detail = detail.to_owned();
    match (before, after) {
        (State::CheckedIn { .. }, State::Assigned { fetching, .. }) => {
            let assignment = &fetching.work.assignment;
            Some(ClientEvent::Assigned {
                assignment_id: assignment.assignment_id,
                task_id: assignment.task_id,
                round_number: assignment.round_number,
                base_version: assignment.base_version,
            })
        }
        (State::Uploading { .. } | State::Exchanging { .. }, State::Done { assignment_id, report, .. }) => {
            let round_number = before.work()?.assignment.round_number;
            Some(ClientEvent::Accepted { assignment_id: *assignment_id, round_number, report: *report })
        }
        (
            State::Aborting { .. } | State::BackingOff { resume: Resume::Abort(_), .. },
            State::Aborting { .. },
        ) => None,
        (_, State::Aborting { aborting, .. }) => Some(ClientEvent::Aborted {
            assignment_id: aborting.assignment_id,
            reason: aborting.abort.reason,
            detail: aborting.abort.detail.clone(),
        }),
        (State::BackingOff { until: old, .. }, State::BackingOff { until, .. }) if old == until => None,
        // Nothing failed: the client waits for the round.
        (_, State::BackingOff { failures: 0, .. }) => None,
        (_, State::BackingOff { until, failures, .. }) => {
            Some(ClientEvent::BackingOff { until: *until, failures: *failures, detail })
        }
        (State::Idle { check_in_at: old }, State::Idle { check_in_at }) if old == check_in_at => None,
        (before, State::Idle { check_in_at }) => Some(match before.work() {
            Some(work) => ClientEvent::Dropped { assignment_id: work.assignment.assignment_id, detail },
            None => ClientEvent::Waiting { until: *check_in_at },
        }),
        _ => None,
    }
}
