//! Prints the events of a client, one per line.

use folkmoot_client::ClientEvent;
use folkmoot_protocol::messages::AbortReason;
use serde_json::{Value, json};

use super::progress;
use crate::output::{OutputArgs, moment};

/// Prints an event.
pub fn show(output: OutputArgs, event: &ClientEvent) {
    if output.json {
        progress(&machine(event).to_string());
    } else if let Some(line) = human(event) {
        progress(&line);
    }
}

fn machine(event: &ClientEvent) -> Value {
    match event {
        ClientEvent::Enrolled { client_id, population } => {
            json!({ "event": "enrolled", "client_id": client_id, "population": population })
        }
        ClientEvent::Waiting { until } => json!({ "event": "waiting", "until": until }),
        ClientEvent::Assigned { assignment_id, task_id, round_number, base_version } => json!({
            "event": "assigned", "assignment_id": assignment_id, "task_id": task_id,
            "round_number": round_number, "base_version": base_version,
        }),
        ClientEvent::Device { assignment_id, device, energy_class } => json!({
            "event": "device", "assignment_id": assignment_id, "device": device, "energy_class": energy_class,
        }),
        ClientEvent::Training { assignment_id, step, steps_total, loss } => json!({
            "event": "training", "assignment_id": assignment_id, "step": step, "steps_total": steps_total,
            "loss": loss,
        }),
        ClientEvent::Evaluating { assignment_id, metrics, examples_total } => json!({
            "event": "evaluating", "assignment_id": assignment_id, "examples": metrics.example_count,
            "examples_total": examples_total, "loss": metrics.mean_loss(),
        }),
        ClientEvent::Uploading { assignment_id, sent, total } => {
            json!({ "event": "uploading", "assignment_id": assignment_id, "sent": sent, "total": total })
        }
        ClientEvent::Accepted { assignment_id, round_number, report } => json!({
            "event": "accepted", "assignment_id": assignment_id, "round_number": round_number, "report": report,
        }),
        ClientEvent::Aborted { assignment_id, reason, detail } => {
            json!({ "event": "aborted", "assignment_id": assignment_id, "reason": reason, "detail": detail })
        }
        ClientEvent::Dropped { assignment_id, detail } => {
            json!({ "event": "dropped", "assignment_id": assignment_id, "detail": detail })
        }
        ClientEvent::Paused { reason } => json!({ "event": "paused", "reason": reason }),
        ClientEvent::Resumed => json!({ "event": "resumed" }),
        ClientEvent::BackingOff { until, failures, detail } => {
            json!({ "event": "backing_off", "until": until, "failures": failures, "detail": detail })
        }
    }
}

/// Returns a line for humans, or `None` for events that happen many times a second.
fn human(event: &ClientEvent) -> Option<String> {
    Some(match event {
        ClientEvent::Enrolled { client_id, population } => format!("enrolled in {population} as {client_id}"),
        ClientEvent::Waiting { until } => format!("not selected; checks in again at {}", moment(*until)),
        ClientEvent::Assigned { round_number, base_version, .. } => {
            format!("round {round_number}: selected, starts from version {base_version}")
        }
        ClientEvent::Device { device, energy_class, .. } => {
            format!("trains on {device} (energy class {energy_class})")
        }
        ClientEvent::Training { step, steps_total, loss, .. } if step == steps_total => {
            format!("trained {steps_total} steps, loss {loss:.4}")
        }
        ClientEvent::Training { .. } => return None,
        ClientEvent::Evaluating { metrics, examples_total, .. }
            if metrics.example_count == *examples_total =>
        {
            format!("evaluated the model on {examples_total} examples")
        }
        ClientEvent::Evaluating { .. } => return None,
        ClientEvent::Uploading { sent, total, .. } if sent == total => format!("sent {total} bytes"),
        ClientEvent::Uploading { .. } => return None,
        ClientEvent::Accepted { round_number, .. } => {
            format!("round {round_number}: the update was accepted")
        }
        ClientEvent::Aborted { reason: AbortReason::Declined, .. } => "declined to take part".to_owned(),
        ClientEvent::Aborted { detail, .. } => format!("gave up: {detail}"),
        ClientEvent::Dropped { detail, .. } => format!("the update is no longer wanted: {detail}"),
        ClientEvent::Paused { reason } => format!("paused: {reason}"),
        ClientEvent::Resumed => "resumed".to_owned(),
        ClientEvent::BackingOff { until, failures, detail } => {
            format!("failed {failures} times ({detail}); next attempt at {}", moment(*until))
        }
    })
}
