use folkmoot_engine::Metrics;
use folkmoot_protocol::{
    AssignmentId, ClientId, PopulationName, TaskId, Timestamp,
    messages::{AbortReason, ReportRequest},
};
use folkmoot_session::{Resume, State};
use serde::Serialize;

/// Something that a user of the client may want to see.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClientEvent {
    /// The client was enrolled.
    Enrolled {
        /// Its id.
        client_id: ClientId,
        /// The population to which the token belongs.
        population: PopulationName,
    },
    /// There is nothing to do until the next check-in.
    Waiting {
        /// When that is.
        until: Timestamp,
    },
    /// The client was drawn for a round.
    Assigned {
        /// The assignment.
        assignment_id: AssignmentId,
        /// The task.
        task_id: TaskId,
        /// The round's number in its task.
        round_number: u64,
        /// The model version from which it starts.
        base_version: u64,
    },
    /// Training runs on this device. It is told again if the device fails, and the training goes on on the CPU.
    Device {
        /// The assignment.
        assignment_id: AssignmentId,
        /// `cpu`, or the adapter's name.
        device: String,
        /// How much energy a step takes beside the processor: `low`, `high`, or `processor` for the processor itself.
        energy_class: &'static str,
    },
    /// Training goes on.
    Training {
        /// The assignment.
        assignment_id: AssignmentId,
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
        assignment_id: AssignmentId,
        /// The sums over the examples so far.
        metrics: Metrics,
        /// The examples of the whole evaluation.
        examples_total: u64,
    },
    /// The update is on its way.
    Uploading {
        /// The assignment.
        assignment_id: AssignmentId,
        /// Bytes handed to the connection.
        sent: u64,
        /// Bytes of the update.
        total: u64,
    },
    /// The update was accepted and counts.
    Accepted {
        /// The assignment.
        assignment_id: AssignmentId,
        /// The round's number in its task.
        round_number: u64,
        /// What is reported.
        report: ReportRequest,
    },
    /// The client gave the assignment up.
    Aborted {
        /// The assignment.
        assignment_id: AssignmentId,
        /// Why.
        reason: AbortReason,
        /// More for humans.
        detail: String,
    },
    /// The coordinator no longer wants the update: the round closed, say.
    Dropped {
        /// The assignment.
        assignment_id: AssignmentId,
        /// What the coordinator said.
        detail: String,
    },
    /// Nothing is trained now. An assignment under way is given up if that lasts.
    Paused {
        /// Why, in words that do not change, or in the app's own.
        reason: String,
    },
    /// What was paused goes on.
    Resumed,
    /// A request failed and is sent again.
    BackingOff {
        /// When.
        until: Timestamp,
        /// Failures in a row.
        failures: u32,
        /// What failed.
        detail: String,
    },
}

/// Tells what a step meant, from the states before and after it. `detail` is what failed last.
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
        (State::Uploading { uploading, .. }, State::Done { assignment_id, report, .. }) => {
            let round_number = uploading.work.assignment.round_number;
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
